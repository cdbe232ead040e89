"""Whom has the kernel's out-of-memory killer ended?"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

CGROUPS = Path("/sys/fs/cgroup")
PROC = Path("/proc")
_KILLED = re.compile(
    r"(?:Memory cgroup out of memory|Out of memory[^:]*): Kill(?:ed)? process (\d{1,18})(?:,? UID \d+,?)? \((.*?)\)"
)
_LIMIT = re.compile(
    r"oom-kill:constraint=CONSTRAINT_MEMCG\b.*?\boom_memcg=([^,\s]{1,400}).*?\bpid=(\d{1,18})\b"
)
"""What the kernel (5.0 and later) says above the kill: whose limit it was."""


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


def kills(lines: list[str]) -> list[dict[str, Any]]:
    """[{pid, name, text, group}] of the kills that lines of the kernel's log tell; the group is the control group whose limit
    was reached (null: the machine was full, or a kernel that does not say)."""
    reported: list[dict[str, Any]] = []
    groups: dict[int, str] = {}
    for line in lines:
        if limit := _LIMIT.search(line):
            groups[int(limit[2])] = limit[1]
        if killed := _KILLED.search(line):
            pid, text = int(killed[1]), line[killed.start() :].strip()
            reported.append({"pid": pid, "name": killed[2], "text": text, "group": groups.get(pid)})
    return reported


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
