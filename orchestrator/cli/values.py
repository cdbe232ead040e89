"""Which values do options take that click's own types would let through?"""

from __future__ import annotations

import math
from typing import Any

import click

LONGEST_SECONDS = 30 * 24 * 3600.0
MOST_ATTEMPTS = 1000
MOST_ITEMS = 1_000_000_000
"""Lines of a log, numbers of launches, cards."""


class Seconds(click.ParamType[float]):
    """A duration: finite, at most 30 days; `nan` compares with nothing, so that no limit in it would ever be reached."""

    name = "seconds"

    def __init__(self, *, least: float) -> None:
        self.least = least

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            seconds = float(value)
        except ValueError:
            seconds = math.nan
        if not self.least <= seconds <= LONGEST_SECONDS:
            name = param.opts[0] if param else "it"
            limits = f"from {self.least:g} to {LONGEST_SECONDS:.0f}"
            self.fail(f"{str(value)[:40]!r}: {name} takes seconds, e.g. 300 ({limits})", param, ctx)
        return seconds


def consents(_: click.Context, __: click.Parameter, names: tuple[str, ...]) -> tuple[str, ...]:
    """The names given with --consent, each a consent that there is."""
    from orchestrator.consents import known

    return known(names)
