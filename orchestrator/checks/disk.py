"""Can a checkpoint lie where it is to lie?"""

from __future__ import annotations

from collections.abc import Iterator
from shlex import quote

from orchestrator.base.amounts import decimal
from orchestrator.checks.check import Check, not_known
from orchestrator.facts import disk
from orchestrator.facts.disk import Disk
from orchestrator.facts.gather import Facts
from orchestrator.facts.source import Unknown

SUBJECT = "disk"
KINDS = {
    "nfs": "over the network: every rank reads the weights through it",
    "tmpfs": "in memory: gone at the next boot, and it takes the memory of the engine",
    "overlayfs": "of a container: gone with it",
    "fuseblk": "in user space: slow",
}
"""What a file system means for weights, by the name that stat gives it."""
LITTLE = 20 * 10**9


def check(facts: Facts) -> Iterator[Check]:
    """The file system under the checkpoint's folder: writable, room, kind."""
    under = facts.of(disk.FACT)
    if not isinstance(under, Unknown):
        yield from _checkpoint(under)
    elif under.code == "not_a_folder":
        yield Check(SUBJECT, "fail", under.reason)
    else:
        yield from not_known(SUBJECT, under)


def _checkpoint(under: Disk) -> Iterator[Check]:
    if not under.writable:
        words = f"{under.parent} is not writable for this user"
        yield Check(SUBJECT, "warn", words, f"ls -ld {quote(under.parent)}")
    if under.free_bytes is None:
        yield Check(SUBJECT, "unknown", under.untold)
        return
    yield _room(under, under.free_bytes)
    if (kind := under.filesystem) in KINDS:
        yield Check(SUBJECT, "warn", f"{under.parent} is {kind}, {KINDS[kind]}")


def _room(under: Disk, free: int) -> Check:
    words = f"{decimal(free)} are free under {under.parent} ({under.filesystem or 'kind not known'})"
    if free < LITTLE:
        return Check(SUBJECT, "warn", words, f"df -h {quote(under.parent)}")
    return Check(SUBJECT, "pass", words)
