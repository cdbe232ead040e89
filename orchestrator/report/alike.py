"""Which of several hosts say the same? Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")

NAMED = 8
"""So many hosts are named; --json names all."""


def alike(answers: Mapping[str, T], key: Callable[[T], object]) -> list[tuple[tuple[str, ...], T]]:
    """Hosts by what they answered, in the order of the first of each, with its answer; `key` is what counts of one."""
    groups: dict[object, tuple[list[str], T]] = {}
    for host, answer in answers.items():
        groups.setdefault(key(answer), ([], answer))[0].append(host)
    return [(tuple(hosts), answer) for hosts, answer in groups.values()]


def named(hosts: Sequence[str]) -> str:
    """`gpu7, gpu8`; of many the first, and how many more there are."""
    more = f" and {len(hosts) - NAMED} more" if len(hosts) > NAMED else ""
    return ", ".join(hosts[:NAMED]) + more


def in_order(answers: Mapping[str, T], order: Iterable[str]) -> dict[str, T]:
    """Answers in the order in which the hosts were named, whoever answered first."""
    return {host: answers[host] for host in order if host in answers}
