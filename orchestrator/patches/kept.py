"""Which patches did these very files hold when they were last read?

Reading a hundred YAML files takes a second, what they came to some milliseconds. It is kept in the user's cache folder,
each file under a hash of its bytes, all of them under a hash of the code that judges them; where nothing can be kept, the
files are read again.
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

from orchestrator.base.yaml_file import LARGEST_BYTES
from orchestrator.on_host.files import regular_file, trusted
from orchestrator.patches import literals
from orchestrator.patches.patch import Patch

_JUDGES = (
    "engines/command_line.py", "engines/rules.py",
    "engines/vllm/arguments.py", "engines/vllm/phases.py", "engines/vllm/variables.py", "on_host/checkpoint/configs.py",
    "on_host/secrets/names.py", "patches/action.py", "patches/editable.py", "patches/ends.py", "patches/form.py",
    "patches/formula.py", "patches/literals.py", "patches/match.py", "patches/patch.py", "patches/pointer.py",
    "patches/steps.py", "patches/wanted.py", "patches/when.py",
)  # fmt: skip
"""What decides how a patch is read, from the package's own folder: what was kept by another version of it is not taken."""
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
        with suppress(regular_file.Unfit, RuntimeError, ValidationError):
            if trusted.objection(_file().parent) is not None:
                return _here
            raw = regular_file.read(_file(), _LARGEST_BYTES)
            kept = _adapter().validate_json(raw, context={"checked": True})
            literals.remember(kept.words)
            _here.update(kept.patches)
    return _here


def keep(new: Mapping[str, Patch]) -> None:
    """Keep what files were found to hold; that it cannot be done is no error."""
    if not new:
        return
    patches = dict([*recall().items(), *new.items()][-_FILES:])
    _here.update(new)
    with suppress(OSError, RuntimeError):
        folder = _file().parent
        if trusted.objection(folder) is not None:
            return
        trusted.make(folder)
        with tempfile.NamedTemporaryFile(dir=folder, suffix=".new", delete=False) as file:
            file.write(_adapter().dump_json(Kept(patches, _words(patches)), exclude_unset=True))
        Path(file.name).replace(_file())
        for old in folder.glob("*.json"):  # of another release, which may be in use beside this one
            if old != _file() and time.time() - old.stat().st_mtime > _FORGOTTEN_SECONDS:
                old.unlink()


def _file() -> Path:
    configured = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(configured) if Path(configured).is_absolute() else Path.home() / ".cache"
    return base / "deploy" / "patches" / f"{_judged_by()}.json"


def _words(patches: Mapping[str, Patch]) -> dict[str, tuple[str, ...]]:
    matches = [match for patch in patches.values() for match in patch.match]
    patterns = [one for match in matches for one in (match.pattern, *match.watched) if one]
    return {pattern: literals.words_of(pattern) for pattern in patterns}


@cache
def _judged_by() -> str:
    own = Path(__file__).parents[1]
    judges = b"".join((own / name).read_bytes() for name in _JUDGES)
    return hashlib.sha256(judges + f"{sys.version_info[:2]}".encode()).hexdigest()[:32]


@cache
def _adapter() -> TypeAdapter[Kept]:
    return TypeAdapter(Kept)
