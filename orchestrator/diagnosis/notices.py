"""Which lines say of a program that it has ended, in the words of whoever started it?"""

from __future__ import annotations

import re

_SIGNAL = r"(?:Killed|Terminated|Hangup|Segmentation fault|Bus error|Aborted|Illegal instruction|Floating point exception|Interrupt)"
_NUMBER = r"\W{0,3}-?\d{1,5}\b"
NOTICES = re.compile(
    rf"^(?:\S{{1,200}}: line \d{{1,9}}: {{1,9}})?(?:\[\d{{1,4}}\][+-]? {{1,9}})?(?:\d{{1,10}} )?{_SIGNAL}\b(?: \(core dumped\))?(?: {{2}}.*|:.*)?$"
    rf"|^\[\d{{1,4}}\][+-]? {{1,9}}(?:Exit|Done|exit|done|{_SIGNAL.lower()})\b|^zsh: (?:killed|terminated|segmentation fault|abort|bus error|exit)\b"
    r"|\b[Ee]xit(?:ed)?,?(?: with)?(?: non-zero)?(?: exit)? ?(?:code|status)[:=]? {0,2}-?\d{1,5}\b|\bexit(?:code|ed \()[:=]? {0,2}-?\d{1,5}\b"
    r"|\b(?:returncode|exitcode)[:= ]{1,3}-?\d|\b(?:terminated|killed|exited|ended) (?:by|on|with|due to) (?:signal|SIG[A-Z])"
    r"|\bcode=(?:exited|killed|dumped), status=|\b(?:start|reload|stop)\S{0,8} operation timed out\b|: Watchdog timeout \(limit |\bFailed with result '|\bhas been killed by the OOM killer|\bsignal: (?:killed|terminated|aborted|segmentation)"
    r"|\b(?:OOMKilled|CrashLoopBackOff|Back-off restarting failed container|Stopping container|(?:[Ll]iveness|[Ss]tartup) probe failed)"
    r"|^(?:slurmstepd|srun|sbatch|salloc|scancel|mpirun|mpiexec)(?:-[\w.-]{1,80})?: .{0,200}(?:CANCELLED|[Ee]xited|[Tt]erminated|[Kk]illed|oom|aborted|ABORTED|fault|signal)"
    r"|^make(?:\[\d{1,4}\])?: \*\*\* .{1,300}(?:Error \d|Killed|Terminated)|closing signal SIG[A-Z]{2,8}\b|^fish: Job \d"
    rf"|\b(?:exited|died|terminated|crashed)\b[^\n]{{0,24}}(?:\b(?:code|status|rc|exit){_NUMBER}|\bwith \d{{1,3}}\b|: \d{{1,3}}$)"
    rf"|\b(?:stopped|ended|finished)\b[^\n]{{0,24}}\b(?:code|rc|exit){_NUMBER}|\b(?:exit|rc)=-?[1-9]\d{{0,4}}\b"
    r"|\bexited (?:before|early|unexpectedly|prematurely)\b|\bdid not become (?:ready|healthy)\b|^.{0,60}\b(?:[Ss]erver|[Ss]ervice|[Cc]ontainer) (?:failed to start|is unhealthy)\b"
    r"|^(?:\w{1,20}: )?[Tt]im(?:ed out|eout) waiting for .{1,120}|\b[Ss]tate '[\w-]{1,40}' timed out|\bStart request repeated too quickly|^Dependency failed for |^Failed to start [^:]{1,80}\.(?:service\b.*)?$"
    r"|\bScheduled restart job\b|\bentered FATAL state\b|^Essential container in task exited|^Build step .{1,80} as failure$|^Finished: (?:FAILURE|ABORTED)$|\bjob killed\b"
    r"|^(?:mpirun|mpiexec) detected that |^Primary job {1,3}terminated|^error: creating server: "
)
"""What shells, containers, systemd, batch systems, supervisors and CI print of a program that has ended."""


def is_notice(text: str) -> bool:
    """Whether a message is one of these."""
    return NOTICES.search(text.strip()) is not None
