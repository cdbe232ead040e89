"""What is one check of several hosts together, and which of them differ?"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from orchestrator.checks.check import Check
from orchestrator.facts.gather import Facts
from orchestrator.facts.source import Fact, Unknown

T = TypeVar("T")
H = TypeVar("H", bound=Hashable)
_MOST_NAMED = 4


@dataclass(frozen=True)
class GroupCheck(Check):
    """A judgement of all hosts that are to serve one model together.

    Of one that fails `code` is what the refusal is called, `known` what leads to the next `deploy` command where none stands
    in `mend`; with the consent that is named there it is no refusal.
    """

    code: str = ""
    known: Mapping[str, str] = field(default_factory=dict)


def known(hosts: Mapping[str, Facts], fact: Fact[T]) -> dict[str, T]:
    """What the hosts know of it, without those that do not."""
    values: dict[str, T] = {}
    for name, facts in hosts.items():
        value: T | Unknown = facts.of(fact)
        if not isinstance(value, Unknown):
            values[name] = value
    return values


def alike(values: Mapping[str, H]) -> list[tuple[H, tuple[str, ...]]]:
    """The values, each with the hosts that have it: what most have comes first, of equally many what the first host has."""
    having: dict[H, list[str]] = {}
    for host, value in values.items():
        having.setdefault(value, []).append(host)
    return [(value, tuple(hosts)) for value, hosts in sorted(having.items(), key=lambda item: -len(item[1]))]


def named(hosts: Sequence[str]) -> str:
    """Hosts in a sentence: all of a few."""
    if len(hosts) > _MOST_NAMED:
        return f"{', '.join(hosts[:_MOST_NAMED])} and {len(hosts) - _MOST_NAMED} more"
    *before, last = hosts
    return f"{', '.join(before)} and {last}" if before else last


def apart(listed: Sequence[tuple[object, Sequence[str]]]) -> str:
    """Who has what: "0.32.0 on alpha, 0.31.0 on beta"."""
    return ", ".join(f"{value} on {named(hosts)}" for value, hosts in listed)
