"""Which values do options take that click's own types would let through?"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import click

from orchestrator.base.errors import UsageError
from orchestrator.on_host.secrets.secrets import brief

if TYPE_CHECKING:
    from orchestrator.playbook.pinned import PinnedEngine

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
    from orchestrator.base.consents import known

    return known(names)


def version(ctx: click.Context, param: click.Parameter, text: str | None) -> str | None:
    """A version of an engine: what is none fits no range, and every patch that asks for one would be passed over."""
    from packaging.version import Version

    try:
        Version(text or "0")
    except ValueError:  # no version, or one of more digits than a number may have
        raise _refused(ctx, param.opts[0], str(text), "a release such as 0.16.0") from None
    return text


def engine(ctx: click.Context, _: click.Parameter, kind: str | None) -> str | None:
    """The kind of an engine that there is."""
    from orchestrator.engines import registry

    if kind is not None and kind not in registry.kinds():
        raise _refused(ctx, "--engine", kind, ", ".join(registry.kinds()))
    return kind


def pinned(ctx: click.Context, _: click.Parameter, text: str) -> PinnedEngine:
    """One release of an engine that there is, as in NAME==VERSION."""
    import difflib

    from orchestrator.engines import registry
    from orchestrator.playbook.pinned import PinnedEngine

    example = f"one release, such as {registry.USUAL}==0.16.0"
    try:
        release = PinnedEngine.of(text)
    except ValueError:
        raise _refused(ctx, "NAME==VERSION", text, example) from None
    try:
        registry.of_distribution(release.name)
    except LookupError as known:
        near = difflib.get_close_matches(release.name, str(known).split(", "), n=1)
        hint = f"did you mean {near[0]}=={release.version}? " if near else ""
        raise _refused(ctx, "NAME==VERSION", text, f"{hint}NAME is one of {known}") from None
    return release


def indexes(ctx: click.Context, _: click.Parameter, urls: tuple[str, ...]) -> tuple[str, ...]:
    """Package indexes, as a playbook names them."""
    from orchestrator.playbook.pinned import INDEX

    for url in urls:
        if not re.fullmatch(INDEX, url, re.ASCII):
            raise _refused(ctx, "--index", url, "an http(s) address without credentials")
    return urls


def name(ctx: click.Context, _: click.Parameter, text: str | None) -> str | None:
    """The name of a deployment, which is a folder's on the host."""
    if text is not None and not re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,63}", text):
        raise _refused(ctx, "--name", text, "a-z, 0-9, '.', '_' and '-', at most 64, not a sign first")
    return text


def compute_cap(ctx: click.Context, _: click.Parameter, text: str | None) -> str | None:
    """A compute capability as patches ask for it."""
    if text and not re.fullmatch(r"[0-9]{1,3}\.[0-9]{1,3}", text):
        raise _refused(ctx, "--compute-cap", text, "two numbers such as 12.0")
    return text


def _refused(ctx: click.Context, option: str, text: str, allowed: str) -> UsageError:
    message = f"{option} {brief(text, 60)!r} is none; allowed: {allowed}"
    verb = ctx.info_name if ctx.parent is None or ctx.parent.parent is None else ctx.parent.info_name
    return UsageError("invalid_option", message, verb=str(verb))
