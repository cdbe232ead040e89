"""How much room is there where the checkpoint lies or will lie, and whose folder is it?"""

from __future__ import annotations

import re
from dataclasses import dataclass

from orchestrator.facts.source import Command, Fact, Output, Unknown, parsed

# The folder may not exist yet: its nearest parent that does is on the same filesystem.
_SCRIPT = r"""
p=$1
printf 'folder=%s\n' "$p"
[ -d "$p" ] && echo exists=yes
while [ ! -e "$p" ] && [ "$p" != / ] && [ "$p" != . ]; do p=$(dirname -- "$p"); done
printf 'parent=%s\n' "$p"
[ -d "$p" ] || echo not_a_folder=yes
[ -w "$p" ] && echo writable=yes
printf 'owner=%s\n' "$(stat -L -c %u -- "$p" 2>/dev/null)"
printf 'filesystem=%s\n' "$(stat -f -L -c %T -- "$p" 2>/dev/null)"
df -Pk -- "$p"
"""


def command(folder: str) -> Command:
    """Ask about this folder; a slow network filesystem may take its time."""
    return Command.sh(_SCRIPT, folder, timeout=30)


@dataclass(frozen=True)
class Disk:
    """The filesystem under the checkpoint's folder; sizes in bytes."""

    folder: str
    """The folder's absolute path on the host."""
    exists: bool
    parent: str
    """The folder itself, or the nearest parent that exists."""
    writable: bool
    """Whether we may write there."""
    owner_uid: int | None
    filesystem: str | None
    """"ext2/ext3", "nfs", "xfs", "tmpfs", ... as stat names it."""
    mount: str | None
    size_bytes: int | None
    """None, as the free bytes, where df tells nothing; `untold` says why."""
    free_bytes: int | None
    untold: str = ""


def parse(output: Output) -> Disk | Unknown:
    """The disk from the lines of the command; something else than a folder in its place is Unknown, and silence."""
    values: dict[str, str] = {}
    sizes = None
    for line in output.out.splitlines():
        key, equals, value = line.partition("=")
        # a device or mount point may hold spaces; the four columns of numbers cannot
        table = re.fullmatch(r".+?\s+(\d{1,18})\s+(\d+)\s+(-?\d{1,18})\s+(?:\d+%|-)\s+(/.*)", line)
        if table:
            sizes = table.groups()
        elif equals and key in (
            "folder",
            "exists",
            "parent",
            "not_a_folder",
            "writable",
            "owner",
            "filesystem",
        ):
            values[key] = value
    if "not_a_folder" in values and "parent" in values:
        return Unknown("not_a_folder", f"{values['parent']} is not a folder")
    if "folder" not in values:
        return Unknown("disk_unreadable", "the host's shell answers nothing")
    untold = ""
    if sizes is None:
        last = (output.err.strip().splitlines() or ["df printed nothing"])[-1]
        untold = f"the free space of {values['folder']} is not known: {last}"
    size, _, free, mount = sizes or (None, None, None, None)
    return Disk(
        folder=values["folder"],
        exists="exists" in values,
        parent=values.get("parent", values["folder"]),
        writable="writable" in values,
        owner_uid=int(values["owner"]) if re.fullmatch(r"\d{1,10}", values.get("owner", "")) else None,
        filesystem=values.get("filesystem") or None,
        mount=mount,
        size_bytes=None if size is None else int(size) * 1024,
        free_bytes=None if free is None else max(0, int(free)) * 1024,
        untold=untold,
    )


FACT = Fact("disk", lambda query: command(query.folder), parsed(parse), Disk, by_line=True)
