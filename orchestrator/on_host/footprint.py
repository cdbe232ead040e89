"""What does one kind of engine leave on a host: processes, shared memory, compiled code?

An engine says it of itself, a request carries it, and a launch has it on record as it was then: a later release may know
otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_STARTS = ("home", "cache", "temporary")


@dataclass(frozen=True)
class SharedNames:
    """How the names of files in /dev/shm begin, and what they are made with: parts of the paths of modules and libraries,
    one of which their maker has mapped. Raises ValueError for a beginning that any name has."""

    begin: str
    made_with: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.begin:
            raise ValueError("every name begins with nothing")


@dataclass(frozen=True)
class CachePlace:
    """Where a folder of compiled code may be: `below` of where `start` leads.

    `start` is a variable ("$TRITON_HOME"), which counts where it is set, or "home", "cache" (XDG's) or "temporary". `tilde`:
    its leading ~ is the home folder. `itself`: the folder that it leads to is the cache's own, and so has to be no link.
    {user} in `below` is the user's name. `entries` and `inside` say what of a folder is the cache's (`removing/caches.py`).
    Raises ValueError for a start that is none, as a later release may have on record, and where all of what a variable, or
    every person, may fill with other things would be the cache's.
    """

    start: str
    below: str = ""
    tilde: bool = False
    itself: bool = False
    entries: str | None = None
    inside: str | None = None

    def __post_init__(self) -> None:
        if self.start not in _STARTS and not self.variable:
            raise ValueError(f"nothing is kept at {self.start!r}")
        if not self.below and self.entries is None:
            raise ValueError(f"{self.start} may hold anything else")

    @property
    def variable(self) -> str | None:
        return self.start[1:] if self.start.startswith("$") else None


@dataclass(frozen=True)
class Footprint:
    """`called` is an expression that is found in the command line or the title of each of its processes, or `mapped` is part
    of the path of a file that the process has mapped. `caches` has a row for each folder of compiled code: the places where it
    may be, of which the first counts."""

    called: str
    mapped: str
    shared_memory: tuple[SharedNames, ...]
    caches: tuple[tuple[CachePlace, ...], ...]

    def knows(self, name: str) -> bool:
        """Whether it may have made an entry of /dev/shm of that name."""
        return name.startswith(tuple(names.begin for names in self.shared_memory))

    @property
    def variables(self) -> Iterator[str]:
        """The variables that decide where its caches are."""
        return (place.variable for places in self.caches for place in places if place.variable)

    @classmethod
    def of(cls, value: Any) -> Footprint:
        """One as a request or a record has it; raises ValueError for what is none."""
        try:
            called, mapped = _text(value["called"]), _text(value["mapped"])
            re.compile(called)
            shared = tuple(
                SharedNames(_text(names["begin"]), tuple(map(_text, names["made_with"])))
                for names in value["shared_memory"]
            )
            caches = tuple(tuple(map(_place, places)) for places in value["caches"])
        except (TypeError, KeyError, AttributeError, re.error) as error:
            raise ValueError(f"no footprint of an engine: {error!r}") from error
        return cls(called, mapped, shared, caches)


def _place(value: Any) -> CachePlace:
    place = CachePlace(**{**value, "start": _text(value["start"])})
    _text(place.below)
    for expression in (place.entries, place.inside):
        re.compile("" if expression is None else _text(expression))
    return place


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value
