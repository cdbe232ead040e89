"""Which processes compute on the GPUs, and how much memory do they hold?"""

from __future__ import annotations

import re
from dataclasses import dataclass

from orchestrator.facts.gpus import NVIDIA_PATH, failure
from orchestrator.facts.source import Command, Fact, Output, Unknown, parsed, plain

# Whose each process is, what it runs and in which container, where /proc has one of that number.
_SCRIPT = (
    NVIDIA_PATH
    + r"""
out=$(nvidia-smi --query-compute-apps=gpu_uuid,pid,process_name,used_gpu_memory --format=csv,noheader,nounits); rc=$?
printf '%s\n' "$out"
for pid in $(printf '%s\n' "$out" | sed -n 's/^[A-Z]*-[^,]*, \([0-9]*\), .*/\1/p' | sort -u); do
  [ -r "/proc/$pid/cmdline" ] || continue
  printf 'owner: %s %s %s\n' "$pid" "$(stat -c %U "/proc/$pid")" "$(tr '\0\n' '  ' <"/proc/$pid/cmdline")"
  printf 'container: %s %s\n' "$pid" "$(grep -oE '[0-9a-f]{64}' "/proc/$pid/cgroup" | head -n 1)"
done 2>/dev/null
exit $rc
"""
)
COMMAND = Command.sh(_SCRIPT, timeout=30)
_OWNER = re.compile(r"^owner: (\d{1,18}) (\S+) (.*)$", re.MULTILINE)
_CONTAINER = re.compile(r"^container: (\d{1,18}) ([0-9a-f]{12})[0-9a-f]{52}$", re.MULTILINE)


@dataclass(frozen=True)
class GpuProcess:
    """One process on one GPU; inside a container its pid may be the host's."""

    gpu_uuid: str
    pid: int
    name: str | None
    memory_mib: int | None
    user: str | None = None
    command: str | None = None
    """The command line; None, as the user, where no process of that number runs this program here."""
    container: str | None = None
    """The first twelve digits of its container's id, as `docker ps` shows them; None where it is in none."""


def parse(output: Output) -> tuple[GpuProcess, ...] | Unknown:
    """The processes of `nvidia-smi --query-compute-apps`; an idle host answers with nothing at all."""
    if (failed := failure(output)) is not None:
        return failed
    owners = {int(pid): (user, command) for pid, user, command in _OWNER.findall(output.out)}
    containers = {int(pid): number for pid, number in _CONTAINER.findall(output.out)}
    processes = []
    for line in output.out.splitlines():
        # a process name may hold commas: two fields from the left, one from the right
        match = re.fullmatch(r"((?:GPU|MIG)-[^,]+), (\d{1,18}), (.*), ([^,]+)", line.strip())
        if match:
            uuid, pid, name, memory = match.groups()
            mib = re.fullmatch(r"(\d{1,18})( MiB)?", memory)
            shown = None if name.startswith("[") else name
            user, command = owners.get(int(pid), ("", ""))
            known = shown is not None and _program(shown) == _program(command)
            processes.append(
                GpuProcess(
                    uuid,
                    int(pid),
                    shown,
                    int(mib[1]) if mib else None,
                    user if known else None,
                    command.strip() if known else None,
                    containers.get(int(pid)) if known else None,
                )
            )
    if not processes and output.rc != 0:
        return Unknown("gpu_query", f"nvidia-smi left with exit status {output.rc}")
    return tuple(processes)


FACT = Fact("gpu_processes", plain(COMMAND), parsed(parse), tuple[GpuProcess, ...])


def _program(command: str) -> str:
    return command.split(" ")[0].rpartition("/")[2]
