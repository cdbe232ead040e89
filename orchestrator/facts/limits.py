"""What may a process of this user use, and is it in a container?"""

from __future__ import annotations

import re
from dataclasses import dataclass

from orchestrator.facts.source import Command, Fact, Output, Unknown, parsed, plain

# The limits of a session over SSH, which a launch inherits. A control group caps memory below what /proc/meminfo tells.
_SCRIPT = r"""
cat /proc/self/limits
group=$(sed -n 's/^0:://p' /proc/self/cgroup)
for folder in "/sys/fs/cgroup$group" /sys/fs/cgroup /sys/fs/cgroup/memory; do
  for name in memory.max memory.limit_in_bytes pids.max; do
    [ -r "$folder/$name" ] && echo "$name=$(cat "$folder/$name")"
  done
done
[ -e /.dockerenv ] && echo container=docker
[ -e /run/.containerenv ] && echo container=podman
[ -n "$KUBERNETES_SERVICE_HOST" ] && echo container=kubernetes
[ -d /proc/vz ] && [ ! -d /proc/bc ] && echo container=openvz
true
"""

COMMAND = Command.sh(f"exec 2>/dev/null{_SCRIPT}", timeout=10)
UNLIMITED = 1 << 62
"""From here on a number is another way to say that there is no limit (cgroup v1 names 2^63 less a page)."""


@dataclass(frozen=True)
class Limit:
    """Soft and hard; None is without limit."""

    soft: int | None
    hard: int | None


@dataclass(frozen=True)
class UserLimits:
    """What a process may use; None where the host does not tell."""

    open_files: Limit | None
    locked_bytes: Limit | None
    """Memory that may be pinned: RDMA and, in containers, NCCL need it."""
    processes: Limit | None
    memory_bytes: int | None
    """The least cap of the control groups; None where there is none."""
    tasks: int | None
    """How many processes and threads the control group may have."""
    container: str | None
    """"docker", "podman", "kubernetes", ..."""


def parse(output: Output) -> UserLimits | Unknown:
    """From /proc/self/limits and the files of the control group."""
    files, locked, processes = (
        _limit(output.out, label) for label in ("Max open files", "Max locked memory", "Max processes")
    )
    values = [line.partition("=") for line in output.out.splitlines()]
    caps = [_number(value) for key, _, value in values if key in ("memory.max", "memory.limit_in_bytes")]
    tasks = [_number(value) for key, _, value in values if key == "pids.max"]
    container = next((value for key, _, value in values if key == "container"), None)
    if not (files or locked or processes or caps or container):
        return Unknown("limits_unread", "the host tells no limits (/proc/self/limits)")
    return UserLimits(
        open_files=files,
        locked_bytes=locked,
        processes=processes,
        memory_bytes=min((cap for cap in caps if cap is not None), default=None),
        tasks=min((count for count in tasks if count is not None), default=None),
        container=container or None,
    )


FACT = Fact("limits", plain(COMMAND), parsed(parse), UserLimits, by_line=True)


def _limit(text: str, label: str) -> Limit | None:
    line = re.search(rf"^{label} +(unlimited|\d{{1,20}}) +(unlimited|\d{{1,20}})", text, re.MULTILINE)
    return Limit(_number(line[1]), _number(line[2])) if line else None


def _number(text: str) -> int | None:
    """None for "unlimited", "max" and what is none; a number of thousands of digits is one of the last."""
    number = int(text) if re.fullmatch(r"\d{1,20}", text) else None
    return None if number is None or number >= UNLIMITED else number
