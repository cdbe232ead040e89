"""Can a checkpoint lie where it is to lie, and is there room for what is written beside it?"""

from __future__ import annotations

from collections.abc import Iterator
from shlex import quote

from orchestrator.base.amounts import decimal
from orchestrator.checks.check import Check, not_known
from orchestrator.facts import disk, places
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


LITTLE_BESIDE = 2 * 10**9
"""Compilers and the Hub's client write gigabytes into temporary files and caches."""
LEAST_INODES = 10_000
WRITTEN = {"temporary": "temporary files", "state": "journal and logs", "hub": "the Hub's cache"}


def check(facts: Facts) -> Iterator[Check]:
    """The file system under the checkpoint's folder, then those of what is written besides."""
    under = facts.of(disk.FACT)
    if not isinstance(under, Unknown):
        yield from _checkpoint(under)
    elif under.code == "not_a_folder":
        yield Check(SUBJECT, "fail", under.reason)
    else:
        yield from not_known(SUBJECT, under)
    yield from _beside(facts)


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


def _beside(facts: Facts) -> Iterator[Check]:
    read = facts.of(places.FACT)
    if isinstance(read, Unknown):
        yield from not_known("folders", read)
        return
    narrow = []
    for place in read.places:
        what = f"{place.path} ({WRITTEN[place.name]}, {place.filesystem})"
        if place.free_bytes < LITTLE_BESIDE:
            words = f"{decimal(place.free_bytes)} are free in {what}"
            narrow.append(Check("folders", "warn", words, f"df -h {quote(place.path)}"))
        elif place.free_inodes is not None and place.free_inodes < LEAST_INODES:
            words = f"{place.free_inodes} more files fit in {what}: no inodes are left"
            narrow.append(Check("folders", "warn", words, f"df -i {quote(place.path)}"))
    for quota in read.quotas:
        most = quota.hard or quota.soft
        if most and most - quota.used < LITTLE:
            words = f"quota on {quota.filesystem}: {decimal(quota.used)} of {decimal(most)} are used"
            narrow.append(Check("folders", "warn", words, "quota -s"))
    yield from narrow or [Check("folders", "pass", "temporary files, state and cache have room")]


def _room(under: Disk, free: int) -> Check:
    words = f"{decimal(free)} are free under {under.parent} ({under.filesystem or 'kind not known'})"
    if free < LITTLE:
        return Check(SUBJECT, "warn", words, f"df -h {quote(under.parent)}")
    return Check(SUBJECT, "pass", words)
