"""Is there room for what is written besides the checkpoint?"""

from __future__ import annotations

from collections.abc import Iterator
from shlex import quote

from orchestrator.base.amounts import decimal
from orchestrator.checks.check import Check, not_known
from orchestrator.facts.examined import places
from orchestrator.facts.gather import Facts
from orchestrator.facts.source import Unknown

SUBJECT = "folders"
LITTLE = 2 * 10**9
"""Compilers and the Hub's client write gigabytes into temporary files and caches."""
LEAST_INODES = 10_000
WRITTEN = {"temporary": "temporary files", "state": "journal and logs", "hub": "the Hub's cache"}
LITTLE_QUOTA = 20 * 10**9


def check(facts: Facts) -> Iterator[Check]:
    """Each of our folders that is nearly full, and each quota that is nearly used up."""
    read = facts.of(places.FACT)
    if isinstance(read, Unknown):
        yield from not_known(SUBJECT, read)
        return
    narrow = []
    for place in read.places:
        what = f"{place.path} ({WRITTEN[place.name]}, {place.filesystem})"
        if place.free_bytes < LITTLE:
            words = f"{decimal(place.free_bytes)} are free in {what}"
            narrow.append(Check(SUBJECT, "warn", words, f"df -h {quote(place.path)}"))
        elif place.free_inodes is not None and place.free_inodes < LEAST_INODES:
            words = f"{place.free_inodes} more files fit in {what}: no inodes are left"
            narrow.append(Check(SUBJECT, "warn", words, f"df -i {quote(place.path)}"))
    for quota in read.quotas:
        most = quota.hard or quota.soft
        if most and most - quota.used < LITTLE_QUOTA:
            words = f"quota on {quota.filesystem}: {decimal(quota.used)} of {decimal(most)} are used"
            narrow.append(Check(SUBJECT, "warn", words, "quota -s"))
    yield from narrow or [Check(SUBJECT, "pass", "temporary files, state and cache have room")]
