"""Which patches did these very files hold when they were last read?

Reading a hundred YAML files takes a second, what they came to some milliseconds. It is kept in the user's cache folder
under a seal of the files' content and of the code that judges it; where nothing can be kept, the files are read again.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from orchestrator.remedy.patch import Patch

_JUDGES = ("action.py", "formula.py", "match.py", "patch.py", "wanted.py")
_KEPT = 8
"""Catalogues that are kept: those of the last few sets of folders."""


def seal(paths: Iterable[Path]) -> str:
    """What the files hold, in one word; it changes with any byte, name or order of them, and with this program.

    A file that cannot be read is taken as empty: reading it as a patch will say what is wrong.
    """
    told = hashlib.sha256(f"{sys.version_info[:2]}{_judged_by()}".encode())
    for path in paths:
        content = b""
        with suppress(OSError):
            content = path.read_bytes()
        told.update(f"{path.name}\0{len(content)}\0".encode())
        told.update(content)
    return told.hexdigest()


def recall(seal_: str) -> tuple[Patch, ...] | None:
    """The patches under that seal, None where none were kept."""
    try:
        text = (_folder() / f"{seal_}.json").read_bytes()
        return _patches().validate_json(text, context={"checked": True})
    except (OSError, RuntimeError, ValidationError):
        return None


def keep(seal_: str, patches: tuple[Patch, ...]) -> None:
    """Keep the patches under that seal; that it cannot be done is no error."""
    with suppress(OSError, RuntimeError):
        folder = _folder()
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.NamedTemporaryFile(dir=folder, suffix=".new", delete=False) as new:
            new.write(_patches().dump_json(patches, exclude_unset=True))
        Path(new.name).replace(folder / f"{seal_}.json")
        for old in sorted(folder.glob("*.json"), key=lambda path: path.stat().st_mtime)[:-_KEPT]:
            old.unlink()


def _folder() -> Path:
    configured = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(configured) if Path(configured).is_absolute() else Path.home() / ".cache"
    return base / "deploy" / "patches"


@cache
def _judged_by() -> str:
    own = Path(__file__).parent
    return hashlib.sha256(b"".join((own / name).read_bytes() for name in _JUDGES)).hexdigest()


@cache
def _patches() -> TypeAdapter[tuple[Patch, ...]]:
    return TypeAdapter(tuple[Patch, ...])
