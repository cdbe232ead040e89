"""Of what must change for each of several candidates to run, which asks for least?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

GIVEN, UNSURE, SET, FILES, INSTALL = 1, 2, 3, 4, 5
"""How much a change is: an option that was given is left away, perhaps is, something is set, files are edited, a package is
installed."""
_MOST_NAMED = 3


@dataclass(frozen=True)
class Lever:
    """One setting that can be changed: how much that is, and how it is told."""

    setting: str
    weight: int
    sentence: str


def least(
    needed: Mapping[str, tuple[Lever, ...] | None], order: Sequence[str]
) -> tuple[tuple[Lever, ...], tuple[str, ...]] | None:
    """The least of what the candidates need, and those that need just that; None where none can be helped (None or nothing of
    each). `order` says of settings that weigh the same which goes first."""
    possible = {name: levers for name, levers in needed.items() if levers}
    if not possible:
        return None
    best = min(possible.values(), key=lambda levers: _size(levers, order))
    settings = [lever.setting for lever in best]
    return best, tuple(
        name for name, levers in possible.items() if [lever.setting for lever in levers] == settings
    )


def weight_of(given: bool | None) -> int:
    """How much it is to change an option: whether it was given, None where nobody knows."""
    return {True: GIVEN, None: UNSURE, False: SET}[given]


def named(names: Sequence[str]) -> str:
    """The first few of `names` in a sentence."""
    shown = [*names[:_MOST_NAMED], *(["others"] if len(names) > _MOST_NAMED else [])]
    return " and ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))


def _size(levers: tuple[Lever, ...], order: Sequence[str]) -> tuple[int, int, list[int]]:
    return (
        len(levers),
        sum(lever.weight for lever in levers),
        [order.index(lever.setting) for lever in levers],
    )
