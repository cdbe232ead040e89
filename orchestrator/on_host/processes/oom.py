"""Whom has the kernel's out-of-memory killer ended?"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

CGROUPS = Path("/sys/fs/cgroup")
PROC = Path("/proc")
READERS = (
    ("dmesg",),
    ("journalctl", "-k", "-b", "-q", "--no-pager", "-o", "short-monotonic"),
)
"""Who may read the kernel's log differs from host to host: root, group adm, everybody."""
READ_SECONDS = 5.0
_KILLED = re.compile(
    r"(?:Memory cgroup out of memory|Out of memory[^:]*): Kill(?:ed)? process (\d{1,18})(?:,? UID \d+,?)? \((.*?)\)"
)
_STAMP = re.compile(r"\[\s*(\d{1,18}\.\d{1,9})\]")
SLACK_SECONDS = 2.0
"""The kernel's log and the start of a process are stamped by clocks that differ a little."""


def counts() -> dict[str, Any]:
    """How many processes were killed so far: {"group": {path, kills} or null, "machine": N or null}.

    The group is this program's control group, which what it starts shares; a limit of its own or a full machine
    both count there.
    """
    path = _counter()
    return {
        "group": {"path": str(path), "kills": _kills(path)} if path else None,
        "machine": _kills(PROC / "vmstat"),
    }


def since(before: dict[str, Any] | None) -> dict[str, int | None]:
    """How many were killed since these counts were taken, {"group", "machine"}; null for what cannot be told."""
    before = before or {}
    group = before.get("group") or {}
    return {
        "group": _more(Path(group["path"]), group["kills"]) if group else None,
        "machine": _more(PROC / "vmstat", before.get("machine")),
    }


def _more(file: Path, before: int | None) -> int | None:
    """By how much a counter rose; the file of a group goes with the last process in it."""
    now = _kills(file)
    return None if now is None or before is None else now - before


def log(boot_seconds: float) -> list[dict[str, Any]] | None:
    """[{pid, name, text}] of the kills that the kernel's log tells since that moment; None where it cannot be read."""
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
            return parse(done.stdout.decode(errors="replace"), boot_seconds)
    return None


def parse(text: str, boot_seconds: float) -> list[dict[str, Any]]:
    """The kills in a kernel's log; a line without a time counts."""
    kills = []
    for line in text.splitlines():
        killed, stamp = _KILLED.search(line), _STAMP.search(line)
        if killed and (stamp is None or float(stamp[1]) >= boot_seconds - SLACK_SECONDS):
            text = line[killed.start() :].strip()
            kills.append({"pid": int(killed[1]), "name": killed[2], "text": text})
    return kills


def _counter() -> Path | None:
    """The file that counts the kills of this program's control group, of either version."""
    try:
        lines = (PROC / "self" / "cgroup").read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        _, _, rest = line.partition(":")
        controllers, _, group = rest.partition(":")
        if controllers == "":
            file = CGROUPS / group.lstrip("/") / "memory.events"
        elif "memory" in controllers.split(","):
            file = CGROUPS / "memory" / group.lstrip("/") / "memory.oom_control"
        else:
            continue
        if _kills(file) is not None:
            return file
    return None


def _kills(file: Path) -> int | None:
    """N of the line "oom_kill N"."""
    try:
        lines = file.read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) for line in lines if re.fullmatch(r"oom_kill \d{1,18}", line)), None)
