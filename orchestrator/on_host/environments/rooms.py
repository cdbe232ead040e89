"""Which engines of our own are on this host, and how far is each?"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from orchestrator.on_host.environments.place import ENGINES, INTERPRETER
from orchestrator.on_host.files import sole_writer, trusted
from orchestrator.on_host.refusal import Refusal

_NAME = r"[a-z0-9][a-z0-9-]*"
_VERSION = r"[0-9][0-9A-Za-z.+!]*"


@dataclass(frozen=True)
class Room:
    """The folder of one engine and version."""

    engine: str
    version: str
    path: Path

    @property
    def interpreter(self) -> Path:
        return self.path / "environment" / INTERPRETER

    def state(self) -> str:
        """ "whole": it counts; "making": somebody makes it now; "half_made": it counts for nobody."""
        if self.interpreter.exists():
            return "whole"
        return "making" if sole_writer.held(self.path / "lock") else "half_made"


def folder() -> Path:
    return Path(os.path.expanduser(ENGINES))


def room(engine: str, version: str) -> Room:
    """The folder of this engine and version, which may be missing.

    Raises Refusal("engines_folder") where others could change what an engine is started from.
    """
    if not re.fullmatch(_NAME, engine) or not re.fullmatch(_VERSION, version):
        raise Refusal("bad_request", f"{engine!r} {version!r} names no engine")
    path = folder() / f"{engine}-{version}"
    objection = trusted.objection(path)
    if objection:
        raise Refusal("engines_folder", f"no engine is kept in {path}: {objection}")
    return Room(engine, version, path)


def made(there: Room) -> Path:
    """Its folder, made where it is missing; raises Refusal("engines_folder")."""
    try:
        trusted.make(there.path)
    except OSError as error:
        raise Refusal("engines_folder", f"cannot make {there.path}: {error.strerror or error}") from error
    return there.path


def every() -> Iterator[Room]:
    """The engines that are there, whole or not, in the order of their names."""
    try:
        names = sorted(os.listdir(folder()))
    except OSError:
        return
    for name in names:
        match = re.fullmatch(rf"({_NAME}?)-({_VERSION})", name)
        if match and match[1] != "uv" and os.path.isdir(folder() / name):
            yield Room(match[1], match[2], folder() / name)
