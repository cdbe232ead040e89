"""Which config files of a checkpoint are exchanged, and what was done with each?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from orchestrator.programs.journal import FileChange, JournalRecord
from orchestrator.programs.request import Request, Value


class Edited(Value):
    """New bytes (base64) for a file that still has this sha256."""

    name: str
    expect: str
    content: str


class Done(Value):
    """What became of one file: "patched", "restored" or "already original"."""

    name: str
    done: str


class Exchanged(Value):
    """The journal's record of it, and each file."""

    record: JournalRecord
    files: tuple[Done, ...]


class Exchange(Request[Exchanged]):
    """Files of one folder, for one patch. `record` is what the journal shall say of it."""

    program = "config_files"

    instance: str
    folder: str
    patch: str
    record: Mapping[str, Any]
    foreign_folder: bool


class Apply(Exchange):
    action: Literal["apply"] = "apply"
    files: tuple[Edited, ...]


class Restore(Exchange):
    action: Literal["restore"] = "restore"
    files: tuple[FileChange, ...]
    shared_checkpoint: bool
