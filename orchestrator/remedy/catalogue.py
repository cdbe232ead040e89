"""Which patches are there?"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from orchestrator.data_folders import data_folders
from orchestrator.errors import UsageError
from orchestrator.remedy import kept
from orchestrator.remedy.patch import Patch
from orchestrator.yaml_file import load_model

CODE = "invalid_patch"


def load(folders: Sequence[Path]) -> tuple[Patch, ...]:
    """Every patch of the folders, by id; of two with one id the one in the earlier folder counts.

    A folder that does not exist holds none. Raises UsageError("invalid_patch") with file, line and key.
    """
    known, new = kept.recall(), {}
    found: dict[str, Patch] = {}
    for path in [path for folder in folders for path in sorted(folder.glob("*.yaml"))]:
        seal = kept.seal(path)
        patch = known.get(seal) or load_model(path, Patch, code=CODE)
        if patch.id != path.stem:
            raise UsageError(
                CODE,
                f"{path}:1: id: is {patch.id}; allowed: {path.stem}, the name of the file",
                next_command=shlex.join(["mv", "--", str(path), str(path.with_name(f"{patch.id}.yaml"))]),
            )
        if seal not in known:
            new[seal] = patch
        found.setdefault(patch.id, patch)
    kept.keep(new)
    return tuple(found[name] for name in sorted(found))


def load_all(extra: Sequence[Path] = ()) -> tuple[Patch, ...]:
    """The patches of `--patches DIR`, the user's own, and the shipped ones."""
    return load(data_folders("patches", extra))
