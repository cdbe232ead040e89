"""Which files of a checkpoint are taken away because they are not what upstream has?"""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator.programs.cleanup import KeptPath
from orchestrator.programs.request import Request, Value


class KnownFile(Value):
    """What upstream's file is known to be: bytes, and sha256 in hex; None for what nobody told."""

    size: int | None
    sha256: str | None


class Discarded(Value):
    """By name: what is gone, what was sound; what should go and stays. A file whose hash is not known is in none."""

    discarded: tuple[str, ...]
    sound: tuple[str, ...]
    kept: tuple[KeptPath, ...]


class Discard(Request[Discarded]):
    program = "discard"

    instance: str
    folder: str
    files: Mapping[str, KnownFile]
    foreign_folder: bool
    """The consent to write where another user owns the folder."""
