"""Which engine is installed on a host, and how does that stand?"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from orchestrator.programs.errand import ErrandStanding, FailedErrand, spoken
from orchestrator.programs.request import Request, Stored


class InstallHolder(Stored):
    """What a running installation noted of itself in its lock; `since` is host time."""

    since: str | None = None


class InstallProgress(Stored):
    """What is done now: "uv" (fetched), "environment", "packages" or "check", and the last line about it; of the larger wheels
    so many `bytes` are there, of those whose size is known by then."""

    phase: str
    line: str
    bytes: int | None = None
    total: int | None = None


class InstalledNow(Stored):
    """An environment that counts; not `made` where it was there already. `python` is its release, as in "3.12.3"."""

    done: Literal[True] = True
    made: bool
    version: str
    python: str


InstallLine = Annotated[FailedErrand | InstalledNow | InstallProgress, Field(union_mode="left_to_right")]


class InstallStanding(ErrandStanding):
    """`holder` is what the running installation noted of itself, or the last one; `last` is the last line of progress."""

    holder: InstallHolder | None
    last: Annotated[InstallLine | None, BeforeValidator(spoken)]


class StartInstall(Request[InstallStanding]):
    """`engine` is a distribution, `module` what is imported of it, `pythons` the range of Pythons that will do. Of what it
    names `left_out` is not installed; `also` is another name by which it is known there, and a label behind its version; `indexes` are searched before the host's own, `pages` of links to wheels where those
    do not have all of it. `instance` is the deployment that asks for it, if one does; `from_wheels`: it is made from
    those that were sent, and where no index is named from them alone. `likely_bytes` are those that it will take of the disk."""

    program = "install_engine"

    action: Literal["start"] = "start"
    instance: str | None
    engine: str
    version: str
    module: str
    pythons: str
    left_out: tuple[str, ...]
    also: tuple[str, str] | None
    pages: tuple[str, ...]
    indexes: tuple[str, ...]
    from_wheels: bool
    likely_bytes: int | None


class InstallStatus(Request[InstallStanding]):
    program = "install_engine"

    action: Literal["status"] = "status"
    engine: str
    version: str
