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
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from orchestrator.diagnosis import literals
from orchestrator.remedy.patch import Patch

_JUDGES = ("../diagnosis/literals.py", "action.py", "formula.py", "match.py", "patch.py", "wanted.py")
_recent: dict[str, tuple[Patch, ...]] = {}
"""Those of this process."""
_CATALOGUES = 8
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
    if seal_ in _recent:
        return _recent[seal_]
    try:
        text = (_folder() / f"{seal_}.json").read_bytes()
        kept = _kept().validate_json(text, context={"checked": True})
    except (OSError, RuntimeError, ValidationError):
        return None
    literals.remember(kept.words)
    _recent[seal_] = kept.patches
    return kept.patches


def keep(seal_: str, patches: tuple[Patch, ...]) -> None:
    """Keep the patches under that seal; that it cannot be done is no error."""
    _recent[seal_] = patches
    with suppress(OSError, RuntimeError):
        folder = _folder()
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.NamedTemporaryFile(dir=folder, suffix=".new", delete=False) as new:
            new.write(_kept().dump_json(_Kept(patches, _words(patches)), exclude_unset=True))
        Path(new.name).replace(folder / f"{seal_}.json")
        for old in sorted(folder.glob("*.json"), key=lambda path: path.stat().st_mtime)[:-_CATALOGUES]:
            old.unlink()


def _folder() -> Path:
    configured = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(configured) if Path(configured).is_absolute() else Path.home() / ".cache"
    return base / "deploy" / "patches"


@cache
def _judged_by() -> str:
    own = Path(__file__).parent
    return hashlib.sha256(b"".join((own / name).read_bytes() for name in _JUDGES)).hexdigest()


@dataclass(frozen=True)
class _Kept:
    """Patches, and the words that a text must hold to fit their patterns."""

    patches: tuple[Patch, ...]
    words: dict[str, tuple[str, ...]]


def _words(patches: tuple[Patch, ...]) -> dict[str, tuple[str, ...]]:
    matches = [match for patch in patches for match in patch.match]
    patterns = [one for match in matches for one in (match.pattern, *match.watched) if one]
    return {pattern: literals.words_of(pattern) for pattern in patterns}


@cache
def _kept() -> TypeAdapter[_Kept]:
    return TypeAdapter(_Kept)
