"""Would every host be launched with the same options?

Each is planned by its own facts, and what one rank is told the others are not asked for: with a shorter context the head's
counts, with another block size ranks mean different tokens.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from orchestrator.checks.between.group_check import GroupCheck, alike, apart

SUBJECT = "options"


def check(options: Mapping[str, Mapping[str, str]]) -> Iterator[GroupCheck]:
    """By host what it would be launched with, without what is a host's own (which node it is, where it keeps the model)."""
    names = dict.fromkeys(name for given in options.values() for name in given)
    differing = [
        f"{name} {apart(values)}"
        for name in names
        if len(values := alike({host: given.get(name, "not given") for host, given in options.items()})) > 1
    ]
    if differing:
        yield GroupCheck(SUBJECT, "fail", "; ".join(differing), None, "options_differ")
