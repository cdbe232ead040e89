"""Which patches are there?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from orchestrator.data_folders import data_folders, shipped
from orchestrator.errors import UsageError
from orchestrator.remedy.patch import Patch
from orchestrator.yaml_file import load_model

CODE = "invalid_patch"


def load(folders: Sequence[Path]) -> tuple[Patch, ...]:
    """Every patch of the folders, by id; of two with one id the one in the earlier folder counts.

    A folder that does not exist holds none. Raises UsageError("invalid_patch") with file, line and key.
    """
    found: dict[str, Patch] = {}
    for folder in folders:
        own: dict[str, Path] = {}
        for path in sorted(folder.glob("*.yaml")):
            patch = load_model(path, Patch, code=CODE)
            if patch.id != path.stem:
                raise UsageError(
                    CODE, f"{path}:1: id: is {patch.id}; allowed: {path.stem}, the name of the file"
                )
            own[patch.id] = path
            found.setdefault(patch.id, patch)
    return tuple(found[name] for name in sorted(found))


def load_all(extra: Sequence[Path] = ()) -> tuple[Patch, ...]:
    """The patches of `--patches DIR`, the user's own, and the shipped ones."""
    return load(data_folders("patches", extra))


def shipped_folder() -> Path:
    """Where the patches that came with this program lie."""
    return shipped("patches")
