"""Which lines say of a program that it has ended, in the words of whoever started it?"""

from __future__ import annotations

import re

_SIGNAL = r"(?:Killed|Terminated|Hangup|Segmentation fault|Bus error|Aborted|Illegal instruction|Floating point exception|Interrupt)"
NOTICES = re.compile(
    rf"^(?:\S{{1,200}}: line \d{{1,9}}: {{1,9}})?(?:\[\d{{1,4}}\][+-]? {{1,9}})?(?:\d{{1,10}} )?{_SIGNAL}\b(?: \(core dumped\))?(?: {{2}}.*|:.*)?$"
    rf"|^\[\d{{1,4}}\][+-]? {{1,9}}(?:Exit|Done|exit|done|{_SIGNAL.lower()})\b|^zsh: (?:killed|terminated|segmentation fault|abort|bus error|exit)\b"
    r"|\b[Ee]xit(?:ed)?,?(?: with)?(?: non-zero)?(?: exit)? ?(?:code|status)[:=]? {0,2}-?\d{1,5}\b|\bexit(?:code|ed \()[:=]? {0,2}-?\d{1,5}\b"
    r"|\b(?:returncode|exitcode)[:= ]{1,3}-?\d|\b(?:terminated|killed|exited|ended) (?:by|on|with|due to) (?:signal|SIG[A-Z])"
    r"|\bcode=(?:exited|killed|dumped), status=|\b(?:start|reload|stop)\S{0,8} operation timed out\b|: Watchdog timeout \(limit |\bFailed with result '|\bhas been killed by the OOM killer|\bsignal: (?:killed|terminated|aborted|segmentation)"
    r"|\b(?:OOMKilled|CrashLoopBackOff|Back-off restarting failed container|Stopping container|(?:[Ll]iveness|[Ss]tartup) probe failed)"
    r"|^(?:slurmstepd|srun|sbatch|salloc|scancel|mpirun|mpiexec): .{0,200}(?:CANCELLED|[Ee]xited|[Tt]erminated|[Kk]illed|oom|aborted|ABORTED|fault|signal)"
    r"|^make: \*\*\* .{1,300}(?:Error \d|Killed|Terminated)|closing signal SIG[A-Z]{2,8}\b|^fish: Job \d"
)
"""What shells, containers, systemd, batch systems, supervisors and CI print of a program that has ended."""


def is_notice(text: str) -> bool:
    """Whether a message is one of these."""
    return NOTICES.search(text.strip()) is not None
