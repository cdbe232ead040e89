"""Which patches are there?"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from orchestrator.base.data_folders import data_folders
from orchestrator.base.errors import UsageError
from orchestrator.base.yaml_file import load_model
from orchestrator.patches import kept, shared
from orchestrator.patches.files import files_of
from orchestrator.patches.patch import Patch


def load(folders: Sequence[Path]) -> tuple[Patch, ...]:
    """Every patch of the folders and of those in them, by id; of two with one id the one in the earlier folder counts.

    A folder that does not exist holds none. Raises UsageError("invalid_patch") with file, line and key, also where one
    folder holds an id twice.
    """
    patches, broken = survey(folders)
    if broken:
        raise next(iter(broken.values()))
    return patches


def survey(folders: Sequence[Path]) -> tuple[tuple[Patch, ...], dict[Path, UsageError]]:
    """The patches as `load` gives them, and the files that hold none, with what is wrong with each."""
    known = kept.recall()
    patches: dict[str, Patch] = {}
    origin: dict[str, Path] = {}
    broken: dict[Path, UsageError] = {}
    for folder in folders:
        files: dict[str, Path] = {}
        held: dict[str, Patch] = {}
        for path in files_of(folder):
            seal = kept.seal(path)
            try:
                patch = known.get(seal) or load_model(path, Patch, code="invalid_patch")
                _require_name(path, patch)
                _require_once(path, files.setdefault(patch.id, path))
            except UsageError as error:
                broken[path] = error
                continue
            held[seal] = patch
            patches.setdefault(patch.id, patch)
            origin.setdefault(patch.id, path)
        kept.keep(folder, held)
    loaded = []
    for name in sorted(patches):
        try:
            loaded.append(shared.looked_up(patches[name], patches))
        except ValueError as error:
            broken[origin[name]] = UsageError("invalid_patch", f"{origin[name]}:1: remedy: {error}")
    return tuple(loaded), broken


def _require_name(path: Path, patch: Patch) -> None:
    if patch.id != path.stem:
        raise UsageError(
            "invalid_patch",
            f"{path}:1: id: is {patch.id}; allowed: {path.stem}, the name of the file",
            next_command=shlex.join(["mv", "--", str(path), str(path.with_name(f"{patch.id}.yaml"))]),
        )


def _require_once(path: Path, first: Path) -> None:
    if path != first:
        raise UsageError(
            "invalid_patch",
            f"{path}:1: id: is that of {first} too; allowed: one file for each patch of a folder",
            next_command=shlex.join(["diff", "--", str(first), str(path)]),
        )


def load_all(extra: Sequence[Path] = ()) -> tuple[Patch, ...]:
    """The patches of `--patches DIR`, the user's own, and the shipped ones."""
    return load(data_folders("patches", extra))
