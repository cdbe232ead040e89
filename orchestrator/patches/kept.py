"""Which patches did these very files hold when they were last read?

Reading a hundred YAML files takes a second, what they came to some milliseconds. A wheel holds it of the shipped files; of
others, and in a checkout, it is kept in the user's cache folder. Each file is known by a hash of its bytes, all of them by a
hash of the code that judges them; where nothing can be kept, the files are read again.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from orchestrator.base.yaml_file import LARGEST_BYTES, load_model
from orchestrator.on_host.files import regular_file, trusted
from orchestrator.patches import literals
from orchestrator.patches.files import files_of
from orchestrator.patches.patch import Patch

_JUDGES = (
    "base/consents.py",
    "engines/command_line.py", "engines/rules.py",
    "engines/registry.py", "on_host/checkpoint/configs.py",
    "on_host/secrets/names.py", "patches/action.py", "patches/editable.py", "patches/ends.py", "patches/form.py",
    "patches/formula.py", "patches/letters.py", "patches/literals.py", "patches/match.py", "patches/openings.py", "patches/patch.py",
    "patches/pointer.py", "patches/steps.py", "patches/versions.py", "patches/wanted.py", "patches/when.py",
)  # fmt: skip
"""What decides how a patch is read, from the package's own folder: what was kept by another version of it is not taken."""
_JUDGES_OF_AN_ENGINE = ("arguments.py", "log/start.py", "variables.py")
"""The same from the folder of each engine."""
_FILES = 1000
"""Files that are remembered, the last ones that were read; a catalogue has some hundred."""
_LARGEST_BYTES = 64 << 20


_FORGOTTEN_SECONDS = 30 * 86400.0
"""After which what another release kept is taken away."""


@dataclass(frozen=True)
class Kept:
    """Patches by the hash of their file, oldest first, and the words that a text must hold to fit their patterns."""

    patches: dict[str, Patch] = field(default_factory=dict)
    words: dict[str, tuple[str, ...]] = field(default_factory=dict)


_here: dict[str, Patch] = {}
"""Those of this process."""


def seal(path: Path) -> str:
    """A hash of a file's bytes; one that cannot be read has none ("")."""
    try:
        return hashlib.sha256(regular_file.read(path, LARGEST_BYTES)).hexdigest()
    except regular_file.Unfit:
        return ""


def recall() -> Mapping[str, Patch]:
    """What files were found to hold, by their seal; what others could have written there is not believed."""
    if not _here:
        _here.update(_came_with_the_program())
        with suppress(RuntimeError):
            if trusted.objection(_file().parent) is None:
                _here.update(_read(_file()))
    return _here


def compiled(folder: Path) -> tuple[str, bytes]:
    """What a folder's patches come to, as a wheel holds it, and the name of that file in `orchestrator/data/compiled`.

    Raises UsageError("invalid_patch").
    """
    patches = {seal(path): load_model(path, Patch, code="invalid_patch") for path in files_of(folder)}
    return f"{_judged_by()}.json", _written(patches)


def keep(new: Mapping[str, Patch]) -> None:
    """Keep what files were found to hold; that it cannot be done is no error."""
    if not new:
        return
    shipped = _came_with_the_program()
    known = [(each, patch) for each, patch in recall().items() if each not in shipped]
    patches = dict([*known, *new.items()][-_FILES:])
    _here.update(new)
    with suppress(OSError, RuntimeError):
        folder = _file().parent
        if trusted.objection(folder) is not None:
            return
        trusted.make(folder)
        with tempfile.NamedTemporaryFile(dir=folder, suffix=".new", delete=False) as file:
            file.write(_written(patches))
        Path(file.name).replace(_file())
        for old in folder.glob("*.json"):  # of another release, which may be in use beside this one
            if old != _file() and time.time() - old.stat().st_mtime > _FORGOTTEN_SECONDS:
                old.unlink()


@cache
def _came_with_the_program() -> Mapping[str, Patch]:
    return _read(Path(__file__).parents[1] / "data" / "compiled" / f"{_judged_by()}.json")


def _read(file: Path) -> Mapping[str, Patch]:
    with suppress(regular_file.Unfit, ValidationError):
        raw = regular_file.read(file, _LARGEST_BYTES)
        kept = _adapter().validate_json(raw, context={"checked": True})
        literals.remember(kept.words)
        return kept.patches
    return {}


def _written(patches: Mapping[str, Patch]) -> bytes:
    return _adapter().dump_json(Kept(dict(patches), _words(patches)), exclude_unset=True)


def _file() -> Path:
    configured = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(configured) if Path(configured).is_absolute() else Path.home() / ".cache"
    python = f"{sys.version_info.major}.{sys.version_info.minor}"  # an expression may be right in one alone
    return base / "deploy" / "patches" / f"{_judged_by()}-{python}.json"


def _words(patches: Mapping[str, Patch]) -> dict[str, tuple[str, ...]]:
    matches = [match for patch in patches.values() for match in patch.match]
    patterns = [pattern for match in matches for pattern in (match.pattern, *match.watched) if pattern]
    return {pattern: literals.words_of(pattern) for pattern in patterns}


@cache
def _judged_by() -> str:
    own = Path(__file__).parents[1]
    of_engines = sorted(file for name in _JUDGES_OF_AN_ENGINE for file in own.glob(f"engines/*/{name}"))
    judges = b"".join(file.read_bytes() for file in (*(own / name for name in _JUDGES), *of_engines))
    return hashlib.sha256(judges).hexdigest()[:32]


@cache
def _adapter() -> TypeAdapter[Kept]:
    return TypeAdapter(Kept)
