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
_LIMIT = re.compile(
    r"oom-kill:constraint=CONSTRAINT_MEMCG\b.*?\boom_memcg=([^,\s]{1,400}).*?\bpid=(\d{1,18})\b"
)
"""What the kernel (5.0 and later) says above the kill: whose limit it was."""
_STAMP = re.compile(r"\[\s*(\d{1,18}\.\d{1,9})\]")
SLACK_SECONDS = 2.0
"""The kernel's log and the start of a process are stamped by clocks that differ a little."""


def counts() -> dict[str, Any]:
    """How many processes were killed so far: {"group": {path, kills, limits} or null, "machine": N or null}.

    The group is this program's control group, which what it starts shares; a limit of its own or a full machine
    both count there. `limits`: how often its own limit, or one below it, was reached; null where it does not count that.
    """
    path = _counter()
    return {
        "group": {"path": str(path), "kills": _counted(path), "limits": _counted(path, "oom")}
        if path
        else None,
        "machine": _counted(PROC / "vmstat"),
    }


def since(before: dict[str, Any] | None) -> dict[str, int | None]:
    """How many were killed since these counts were taken, {"group", "machine"}, and the bytes of main memory that the group
    may use, {"limit"}, where it was its own limit that was reached; null for what cannot be told."""
    before = before or {}
    group = before.get("group") or {}
    path = Path(group["path"]) if group else None
    reached = _more(path, group.get("limits"), "oom") if path else None
    return {
        "group": _more(path, group["kills"]) if path else None,
        "machine": _more(PROC / "vmstat", before.get("machine")),
        "limit": _limit(path.with_name("memory.max")) if path and reached else None,
    }


def _more(file: Path, before: int | None, name: str = "oom_kill") -> int | None:
    """By how much a counter rose; the file of a group goes with the last process in it."""
    now = _counted(file, name)
    return None if now is None or before is None else now - before


def log(boot_seconds: float) -> list[dict[str, Any]] | None:
    """[{pid, name, text, group}] of the kills that the kernel's log tells since that moment; None where it cannot be read."""
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
    """The kills in a kernel's log, each with the control group whose limit was reached (null: the machine was full, or a kernel
    that does not say); a line without a time counts."""
    kills: list[dict[str, Any]] = []
    groups: dict[int, str] = {}
    for line in text.splitlines():
        if limit := _LIMIT.search(line):
            groups[int(limit[2])] = limit[1]
        killed, stamp = _KILLED.search(line), _STAMP.search(line)
        if killed and (stamp is None or float(stamp[1]) >= boot_seconds - SLACK_SECONDS):
            pid, text = int(killed[1]), line[killed.start() :].strip()
            kills.append({"pid": pid, "name": killed[2], "text": text, "group": groups.get(pid)})
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
        if _counted(file) is not None:
            return file
    return None


def _counted(file: Path, name: str = "oom_kill") -> int | None:
    """N of the line "oom_kill N"."""
    try:
        lines = file.read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) for line in lines if re.fullmatch(rf"{name} \d{{1,18}}", line)), None)


def _limit(file: Path) -> int | None:
    """The bytes that a group may use, None where it has no limit of its own."""
    try:
        most = file.read_text().strip()
    except OSError:
        return None
    return int(most) if most.isdigit() else None
