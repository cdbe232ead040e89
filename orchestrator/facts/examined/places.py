"""On which file systems do our state, the Hub's cache and temporary files lie, and is there room and quota?"""

from __future__ import annotations

import re
from dataclasses import dataclass

from orchestrator.facts.source import Command, Fact, Output, Unknown, parsed, plain

_SCRIPT = r"""
PATH="$PATH:/usr/sbin:/sbin"; export PATH
say() {
  path=$2
  while [ ! -e "$path" ] && [ "$path" != / ] && [ "$path" != . ]; do path=$(dirname -- "$path"); done
  printf 'place %s %s %s\n' "$1" "$(stat -f -L -c '%T %S %a %b %d %c' -- "$path")" "$path"
}
say temporary "${TMPDIR:-/tmp}"
say state "${XDG_STATE_HOME:-$HOME/.local/state}"
say hub "${HF_HOME:-$HOME/.cache/huggingface}"
command -v quota >/dev/null && timeout 5 quota -w -p | sed -n 's/^ *\(\/[^ ]*\) *\([0-9]*\)\*\{0,1\} *\([0-9]*\) *\([0-9]*\) .*/quota \2 \3 \4 \1/p'
true
"""

COMMAND = Command.sh(f"exec 2>/dev/null{_SCRIPT}", timeout=12)
NAMES = ("temporary", "state", "hub")


@dataclass(frozen=True)
class Storage:
    """A folder of ours, or the nearest parent that exists."""

    name: str
    """"temporary" (compilers), "state" (journal and logs), "hub" (the cache of the Hub's client)."""
    path: str
    filesystem: str
    """As stat names it."""
    free_bytes: int
    free_inodes: int | None
    """None where the file system has no fixed number of them."""


@dataclass(frozen=True)
class Quota:
    """What this user may use of a file system, bytes; 0 is no limit."""

    filesystem: str
    used: int
    soft: int
    hard: int


@dataclass(frozen=True)
class Places:
    """The folders, and the quotas that there are."""

    places: tuple[Storage, ...]
    quotas: tuple[Quota, ...]


def parse(output: Output) -> Places | Unknown:
    """From `stat -f` and `quota -w -p`, whose blocks are KiB."""
    places, quotas = [], []
    for line in output.out.splitlines():
        place = re.fullmatch(
            r"place (\w+) (\S+) (\d{1,12}) (\d{1,18}) \d{1,18} (\d{1,18}) (\d{1,18}) (/.*)", line
        )
        quota = re.fullmatch(r"quota (\d{1,18}) (\d{1,18}) (\d{1,18}) (/\S*)", line)
        if place and place[1] in NAMES:
            inodes = int(place[5]) if int(place[6]) else None
            places.append(Storage(place[1], place[7], place[2], int(place[3]) * int(place[4]), inodes))
        elif quota:
            used, soft, hard = (int(quota[number]) * 1024 for number in (1, 2, 3))
            quotas.append(Quota(quota[4], used, soft, hard))
    if not places:
        return Unknown("places_unread", "the host tells nothing of its file systems (stat -f)")
    return Places(tuple(places), tuple(quotas))


FACT = Fact("places", plain(COMMAND), parsed(parse), Places, by_line=True)
