"""Which fixture gives a test of one's own playbook or patch a host to run on?

    def test_my_playbook(rehearsal_host):
        box = rehearsal_host("my-playbook.yaml")
        assert box.deploy("up", "--yes").returncode == 0

It is there wherever this package is installed beside pytest.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pytest

if TYPE_CHECKING:
    from orchestrator.rehearsal.box import Box
    from orchestrator.rehearsal.commanded import Pace


class StartBox(Protocol):
    """Starts a box; it ends with the test."""

    def __call__(
        self,
        playbook: str | Path = ...,
        *,
        fault: str | None = ...,
        pace: Pace = ...,
        checkpoint: Path | None = ...,
    ) -> Box: ...


@pytest.fixture
def rehearsal_host() -> Iterator[StartBox]:
    """A factory of hosts in a box (`orchestrator.rehearsal.Box`), without pauses unless asked for."""
    from orchestrator.rehearsal.box import Box

    with contextlib.ExitStack() as boxes:

        def start(
            playbook: str | Path = "kimi-k2.5",
            *,
            fault: str | None = None,
            pace: Pace = "fast",
            checkpoint: Path | None = None,
        ) -> Box:
            return boxes.enter_context(Box(playbook, fault=fault, pace=pace, checkpoint=checkpoint))

        yield start
