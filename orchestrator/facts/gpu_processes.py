"""Which processes compute on the GPUs, and how much memory do they hold?"""

from __future__ import annotations

import re
from dataclasses import dataclass

from orchestrator.facts.gpus import FAILURES, NVIDIA_PATH
from orchestrator.facts.source import Command, Said, Unknown

COMMAND = Command.sh(
    NVIDIA_PATH + "nvidia-smi --query-compute-apps=gpu_uuid,pid,process_name,used_gpu_memory "
    "--format=csv,noheader,nounits",
    timeout=30,
)


@dataclass(frozen=True)
class GpuProcess:
    """One process on one GPU; inside a container its pid may be the host's."""

    gpu_uuid: str
    pid: int
    name: str | None
    memory_mib: int | None


def parse(said: Said) -> tuple[GpuProcess, ...] | Unknown:
    """The processes of `nvidia-smi --query-compute-apps`; an idle host answers with nothing at all."""
    for code, words, meaning in FAILURES:
        if re.search(words, said.out + said.err):
            return Unknown(code, meaning)
    found = []
    for line in said.out.splitlines():
        # a process name may hold commas: two fields from the left, one from the right
        match = re.fullmatch(r"(GPU-[^,]+), (\d+), (.*), ([^,]+)", line.strip())
        if match:
            uuid, pid, name, memory = match.groups()
            mib = re.fullmatch(r"(\d+)( MiB)?", memory)
            shown = None if name.startswith("[") else name
            found.append(GpuProcess(uuid, int(pid), shown, int(mib[1]) if mib else None))
    if not found and said.rc != 0:
        return Unknown("gpu_query", f"nvidia-smi left with exit status {said.rc}")
    return tuple(found)
