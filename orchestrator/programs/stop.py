"""How is a launch ended, and what became of its processes, shared memory and GPU memory?"""

from __future__ import annotations

from orchestrator.on_host.footprint import Footprint
from orchestrator.programs.processes import NamedProcess
from orchestrator.programs.request import Request, Value


class SharedFile(Value):
    """A file in /dev/shm."""

    name: str
    bytes: int


class KeptEntry(SharedFile):
    """One that stays, and why; `doubtful` where nobody knows whose it is."""

    reason: str
    doubtful: bool


class Returned(Value):
    """Whether the GPUs' memory came back: MiB by uuid that is used, and that the launch still holds."""

    returned: bool
    seconds: float
    used_mib: dict[str, int]
    held_mib: dict[str, int]
    note: str | None


class Stopped(Value):
    """`launch` is None where none was ever started, `gpu` where nobody waited or nvidia-smi does not answer."""

    launch: int | None
    ended: tuple[NamedProcess, ...]
    killed: int
    """How many needed KILL."""
    exit_code: int | None
    left: tuple[NamedProcess, ...]
    """They write into its log, are not known to be its own, and live on."""
    shm_removed: tuple[SharedFile, ...]
    shm_kept: tuple[KeptEntry, ...]
    gpu: Returned | None
    seconds: float


class StopLaunch(Request[Stopped]):
    """The launch that lives where `launch` is None, else the latest; waits in seconds."""

    program = "stop"

    instance: str
    launch: int | None = None
    grace_seconds: float
    kill_seconds: float
    footprint: Footprint
    """For a launch whose record does not tell: an older release's."""
    remove_shm: bool = True
    consented_shm: tuple[str, ...] = ()
    """Entries that may go though they are not known to be the launch's."""
    wait_gpu_seconds: float
    by_person: bool
    anew: bool = False
    """Whether it is to be started again at once."""
