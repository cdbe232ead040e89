"""Where do playbooks, profiles, patches and what a user configured lie, and which folder is asked first?"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

FolderKind = Literal["playbooks", "profiles", "patches"]


def data_folders(kind: FolderKind, extra: Sequence[Path] = ()) -> tuple[Path, ...]:
    """The folders that are searched, first hit wins: `--playbooks DIR`, the user's own, the shipped ones.

    A folder that does not exist stays in the list: an error names every place that was searched.
    """
    users = config_folder()
    return (*extra, *([users / kind] if users else ()), shipped(kind))


def shipped(kind: FolderKind) -> Path:
    """The folder that came with this program: inside the wheel, or at the top of a checkout."""
    package = Path(__file__).parents[1]
    packed = package / "data" / kind
    return packed if packed.is_dir() else package.parent / kind


def config_folder() -> Path | None:
    """What this user has configured; None where nobody can say where the home folder is."""
    configured = os.environ.get("XDG_CONFIG_HOME", "")
    if Path(configured).is_absolute():  # the XDG specification says to ignore relative paths
        return Path(configured) / "deploy"
    try:
        return Path.home() / ".config" / "deploy"
    except RuntimeError:
        return None
