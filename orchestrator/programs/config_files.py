"""Which config files of a checkpoint are exchanged, and what was done with each?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from orchestrator.programs.request import Request, Value


class Edited(Value):
    """New bytes (base64) for a file that still has this sha256."""

    name: str
    expect: str
    content: str


class Original(Value):
    """A file as a patch found it and left it (sha256), and where its link led."""

    name: str
    before: str
    after: str
    symlink: str | None


class Done(Value):
    """What became of one file: "patched", "restored" or "already original"."""

    name: str
    done: str


class Exchanged(Value):
    """The journal's record of it, and each file."""

    record: dict[str, Any]
    files: tuple[Done, ...]


class Apply(Request[Exchanged]):
    """`record` is what the journal shall say besides."""

    program = "config_files"

    action: Literal["apply"] = "apply"
    instance: str
    folder: str
    patch: str
    files: tuple[Edited, ...]
    record: Mapping[str, Any]
    foreign_folder: bool


class Restore(Request[Exchanged]):
    program = "config_files"

    action: Literal["restore"] = "restore"
    instance: str
    folder: str
    patch: str
    files: tuple[Original, ...]
    record: Mapping[str, Any]
    foreign_folder: bool
