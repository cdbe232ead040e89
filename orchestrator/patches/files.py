"""Which files of a folder are patches?"""

from __future__ import annotations

import os
from pathlib import Path


def files_of(folder: Path) -> list[Path]:
    """What is called a YAML file in it and in its folders, folder by folder; a folder that does not exist holds none.

    A folder whose name hides it (`.git`) is left out, and a link to a folder is not followed. One that is itself called
    a YAML file is listed, so that whoever reads it is told.
    """
    paths: list[Path] = []
    for parent, folders, names in os.walk(folder):
        paths += [Path(parent, name) for name in sorted([*names, *folders]) if name.endswith(".yaml")]
        folders[:] = sorted(
            name for name in folders if not name.startswith(".") and not name.endswith(".yaml")
        )
    return paths
