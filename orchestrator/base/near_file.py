"""Which file of a folder has nearly the name that is not there?"""

from __future__ import annotations

import os
from contextlib import suppress
from difflib import get_close_matches
from itertools import islice
from pathlib import Path

MOST_FILES = 10_000


def near_file(file: Path) -> str | None:
    """Its path, as it would be typed; None where there is none, or the folder cannot be read."""
    with suppress(OSError), os.scandir(file.parent) as there:
        names = [entry.name for entry in islice(there, MOST_FILES) if entry.is_file()]
        if near := get_close_matches(file.name, names, n=1):
            return str(file.with_name(near[0]))
    return None
