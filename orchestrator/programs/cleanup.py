"""What is cleaned that a launch stumbled over, and what became of it?"""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator.facts.gpu_processes import GpuProcess
from orchestrator.on_host.footprint import Footprint
from orchestrator.programs.request import Request, Value


class KeptPath(Value):
    """What stays, and why."""

    path: str
    reason: str


class Removed(Value):
    """Paths that are gone, and those that stay."""

    removed: tuple[str, ...]
    kept: tuple[KeptPath, ...]


class Waited(Value):
    """The GPUs after a wait for their memory: MiB by uuid, and who computes on them. `given_back`: whether memory came back while
    it was waited, or since the last launch began; None where no GPU tells."""

    seconds: float
    used_mib: dict[str, int]
    holders: tuple[GpuProcess, ...]
    given_back: bool | None = None


class Cleaned(Value):
    """What became of each thing that was named; the others are unset. `gpu_memory_wait` is None too where nvidia-smi does
    not answer."""

    compile_cache: Removed | None = None
    stale_lock: Removed | None = None
    gpu_memory_wait: Waited | None = None


class Cleanup(Request[Cleaned]):
    """`folder` is the checkpoint's, `environment` what the engine is started with, `footprint` what it leaves on a host,
    `engines` what those of each kind leave; `seconds` is the longest wait, `gpu_at_most_mib` what may be in use on a GPU, by its
    uuid, for it to end."""

    program = "cleanup"

    instance: str
    names: tuple[str, ...]
    folder: str
    environment: Mapping[str, str]
    footprint: Footprint
    engines: tuple[Footprint, ...]
    seconds: float
    gpu_at_most_mib: Mapping[str, int]
