"""What did the kernel say since a moment, of the machine's processes and cards?"""

from __future__ import annotations

import re
import subprocess
from typing import Any

READERS = (
    ("dmesg",),
    ("journalctl", "-k", "-b", "-q", "--no-pager", "-o", "short-monotonic"),
)
"""Who may read the kernel's log differs from host to host: root, group adm, everybody."""
READ_SECONDS = 5.0
SLACK_SECONDS = 2.0
"""The kernel's log and the start of a process are stamped by clocks that differ a little."""
_STAMP = re.compile(r"\[\s*(\d{1,18}\.\d{1,9})\]")
_FAULTS = (
    re.compile(r"NVRM: Xid \(PCI:[0-9a-fA-F:.]{5,20}\): \d{1,4}\b(?:.*?\bpid=(\d{1,18}))?"),
    re.compile(r"[^\s\[\]]{1,40}\[(\d{1,18})\]: segfault at "),
    re.compile(r"traps: [^\[]{1,60}\[(\d{1,18})\] (?:trap invalid opcode|general protection)"),
)
"""What tells that a card or a program failed, by the driver's and the processor's own word (group 1: whose pid)."""
_FAULTS_KEPT = 20


def read(boot_seconds: float) -> list[str] | None:
    """The lines since that moment, oldest first, those without a time too; None where the log cannot be read."""
    for reader in READERS:
        try:
            done = subprocess.run(
                reader,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=READ_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            continue
        if done.returncode == 0 and (done.stdout or reader[0] == "dmesg"):
            return since(done.stdout.decode(errors="replace"), boot_seconds)
    return None


def since(text: str, boot_seconds: float) -> list[str]:
    """The lines of a kernel's log since that moment."""
    kept = []
    for line in text.splitlines():
        stamp = _STAMP.search(line)
        if stamp is None or float(stamp[1]) >= boot_seconds - SLACK_SECONDS:
            kept.append(line)
    return kept


def faults(lines: list[str]) -> list[dict[str, Any]]:
    """[{pid, text}] of the first lines that tell of a card or a program that failed; pid is null where none is named."""
    reported = []
    for line in lines:
        matches = (fault.search(line) for fault in _FAULTS)
        if match := next(filter(None, matches), None):
            text = line[match.start() :].strip()[:400]
            reported.append({"pid": int(match[1]) if match[1] else None, "text": text})
    return reported[:_FAULTS_KEPT]
