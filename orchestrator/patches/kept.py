"""Which patches did these very files hold when they were last read?

Reading some hundred YAML files takes a second, what they came to some milliseconds. A wheel holds it of the shipped files; a
checkout keeps it beside its code, as Python keeps what it compiled; of a user's own files it is kept in the cache folder. Each
file is known by a hash of its bytes, all of them by a hash of the code that judges them; where nothing can be kept, the files
are read again.
"""

from __future__ import annotations

import hashlib
import importlib.util
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

from orchestrator.base.data_folders import shipped
from orchestrator.base.yaml_file import LARGEST_BYTES, load_model
from orchestrator.on_host.files import regular_file, trusted
from orchestrator.patches import literals
from orchestrator.patches.files import files_of
from orchestrator.patches.patch import Patch

_JUDGES = (
    "base/consents.py",
    "engines/command_line.py", "engines/rules.py", "engines/waits.py",
    "engines/registry.py", "on_host/checkpoint/configs.py",
    "on_host/secrets/names.py", "patches/action.py", "patches/editable.py", "patches/ends.py", "patches/form.py",
    "patches/formula.py", "patches/letters.py", "patches/literals.py", "patches/match.py", "patches/openings.py", "patches/patch.py",
    "patches/pointer.py", "patches/steps.py", "patches/versions.py", "patches/wanted.py", "patches/when.py",
    "patches/window.py",
)  # fmt: skip
"""What decides how a patch is read, from the package's own folder: what was kept by another version of it is not taken."""
_JUDGES_OF_AN_ENGINE = (
    "arguments.py",
    "log/kernel_list.py",
    "log/least_change.py",
    "log/start.py",
    "variables.py",
)
"""The same from the folder of each engine."""
_FILES = 1000
"""Files that are remembered, the last ones that were read; a catalogue has some hundred."""
_LARGEST_BYTES = 64 << 20
_NO_TEXT = b"\0"
"""A file begins with it: a search through a checkout's texts would find every patch in one line of a million letters."""


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


def keep(folder: Path, held: Mapping[str, Patch]) -> None:
    """Keep what the files of a folder were found to hold; that it cannot be done is no error."""
    came = _came_with_the_program()
    if folder == shipped("patches") and not held.keys() <= came.keys() and _kept_beside(held):
        return
    new = {each: patch for each, patch in held.items() if each not in recall()}
    if not new:
        return
    known = [(each, patch) for each, patch in recall().items() if each not in came]
    patches = dict([*known, *new.items()][-_FILES:])
    _here.update(new)
    with suppress(OSError, RuntimeError):
        if trusted.objection(_file().parent) is None:
            trusted.make(_file().parent)
            _put(_file(), patches)


def _kept_beside(held: Mapping[str, Patch]) -> bool:
    """Whether those of a checkout could be kept for everybody who runs it."""
    file = _beside()
    if _packed().parent.is_dir():
        return False
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        _put(file, held, mode=0o644)
    except OSError:
        return False
    _came_with_the_program.cache_clear()
    _here.update(held)
    return True


def _put(file: Path, patches: Mapping[str, Patch], *, mode: int = 0o600) -> None:
    with tempfile.NamedTemporaryFile(dir=file.parent, suffix=".new", delete=False) as written:
        written.write(_written(patches))
    Path(written.name).chmod(mode)
    Path(written.name).replace(file)
    for old in file.parent.glob("*.json"):  # of another release, which may be in use beside this one
        if old != file and time.time() - old.stat().st_mtime > _FORGOTTEN_SECONDS:
            old.unlink()


@cache
def _came_with_the_program() -> Mapping[str, Patch]:
    return _read(_packed()) or _read(_beside())


def _packed() -> Path:
    """Where a wheel has it."""
    return Path(__file__).parents[1] / "data" / "compiled" / f"{_judged_by()}.json"


def _beside() -> Path:
    """Where a checkout has it; whoever may write there may write what Python runs."""
    return Path(importlib.util.cache_from_source(__file__)).with_name(_name())


def _read(file: Path) -> Mapping[str, Patch]:
    with suppress(regular_file.Unfit, ValidationError):
        raw = regular_file.read(file, _LARGEST_BYTES).removeprefix(_NO_TEXT)
        kept = _adapter().validate_json(raw, context={"checked": True})
        literals.remember(kept.words)
        return kept.patches
    return {}


def _written(patches: Mapping[str, Patch]) -> bytes:
    return _NO_TEXT + _adapter().dump_json(Kept(dict(patches), _words(patches)), exclude_unset=True)


def _file() -> Path:
    configured = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(configured) if Path(configured).is_absolute() else Path.home() / ".cache"
    return base / "deploy" / "patches" / _name()


def _name() -> str:
    python = f"{sys.version_info.major}.{sys.version_info.minor}"  # an expression may be right in one alone
    return f"{_judged_by()}-{python}.json"


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
