"""Can a person be asked while a command runs?"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from orchestrator.base.events import Display


def asker_of(hosts: Sequence[str], shown: Display, *, as_json: bool) -> Callable[[str], bool] | None:
    """Ask where a person sits at a terminal and one host is concerned."""
    if as_json or len(hosts) > 1 or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None

    from orchestrator.report.layout import passage

    def ask(question: str) -> bool:
        with shown.aside():
            return click.confirm(passage(question), err=True)

    return ask
