"""Which checkpoint is judged, and is it whole?"""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator.programs.discard import KnownFile
from orchestrator.programs.request import Request, Value


class Hashed(Value):
    """Bytes hashed so far and in all; `file` is one under way."""

    bytes: int
    total: int
    file: str | None


class Hashing(Value):
    """A sign of life while files are hashed."""

    progress: Hashed


class Bad(Value):
    """A file that is not what it should be, and why."""

    file: str
    why: str


class CheckpointVerdict(Value):
    """`bytes` are those of the shards; `index` is the index's name, None where there is a single shard."""

    whole: bool
    shards: int
    tensors: int
    bytes: int
    bad: tuple[Bad, ...]
    index: str | None
    hashed: int | None = None
    """How many files were hashed; None where none was to be."""


class Verify(Request[Hashing | CheckpointVerdict]):
    """`files` is what is known of upstream's, None for nothing; with `deep` they are hashed."""

    program = "verify"

    folder: str
    files: Mapping[str, KnownFile] | None
    deep: bool
