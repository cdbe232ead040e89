"""Which folder is looked at, and what does the planner need to know of it?"""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Base64Bytes

from orchestrator.programs.download import Manifest
from orchestrator.programs.request import Request, Value


class Index(Value):
    """The index of the shards: bytes of the weights (None where it names none), and which are there."""

    total_size: int | None
    shards: tuple[str, ...]
    present: tuple[str, ...]
    missing: tuple[str, ...]
    broken: bool


class DiskSpace(Value):
    free_bytes: int
    total_bytes: int


class CodeFiles(Value):
    """The Python that came with a checkpoint: sha256 by name, the other repositories that its configs name code of, and
    whether all of it could be read."""

    files: Mapping[str, str] = {}
    elsewhere: tuple[str, ...] = ()
    whole: bool = True


class Inspected(Value):
    """A folder; `configs` are the bytes of its config files by name, `unreadable` why one cannot be read."""

    exists: bool
    folder: str
    owner_uid: int | None
    owned_by_us: bool
    writable: bool
    symlinks: Mapping[str, str]
    configs: Mapping[str, Base64Bytes]
    unreadable: Mapping[str, str]
    index: Index | None
    weights_bytes: int | None
    """Of the tensors in the files, once all are there."""
    code: CodeFiles | None
    disk: DiskSpace
    manifest: Manifest | None
    """What the last download fetched into it."""


class InspectCheckpoint(Request[Inspected]):
    program = "inspect_checkpoint"

    folder: str
    instance: str | None
