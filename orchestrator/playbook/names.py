"""What are the playbooks in these folders called? By names of files and a few of their lines: a shell asks at every press of a key."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from orchestrator.on_host.files import regular_file

_BLOCK = re.compile(r"^variants:[^\S\n]*(?:#.*)?\n((?:(?:[^\S\n].*)?\n|#.*\n)*)", re.MULTILINE)
_FIRST = re.compile(r"^( +)[^\s#]", re.MULTILINE)
LARGEST_BYTES = 1 << 20


def files_in(folders: Sequence[Path]) -> dict[str, Path]:
    """Every playbook's file in these folders by its name, in the order of the alphabet; the first folder wins."""
    paths: dict[str, Path] = {}
    for folder in folders:
        for path in sorted(folder.glob("*.yaml")):
            paths.setdefault(path.stem, path)
    return dict(sorted(paths.items()))


def called(folders: Sequence[Path]) -> tuple[str, ...]:
    """Every name that `find` knows, variants too; only lines of the files are read for it."""
    return tuple(
        word
        for stem, path in files_in(folders).items()
        for word in (stem, *(f"{stem}-{variant}" for variant in variants_in(path)))
    )


def variants_in(path: Path) -> tuple[str, ...]:
    """The variants that a file has beneath `variants:`, a line each; none of a file that cannot be read."""
    try:
        text = regular_file.read(path, LARGEST_BYTES).decode("utf-8", "replace")
    except (OSError, regular_file.Unfit):
        return ()
    block = _BLOCK.search(f"{text}\n")
    first = _FIRST.search(block[1]) if block else None
    if not block or not first:
        return ()
    return tuple(re.findall(rf"^{first[1]}['\"]?([a-z0-9][a-z0-9._-]*)['\"]?:", block[1], re.MULTILINE))
