"""What is kept of looks at a launch."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from orchestrator.on_host.processes import procs
from orchestrator.on_host.processes.procs import Process
from orchestrator.on_host.state import sightings
from orchestrator.on_host.state.sightings import Sightings


def me() -> Process:
    process = procs.process(os.getpid())
    assert process is not None
    return process


def test_what_looks_saw_adds_up_and_the_dead_are_dropped(tmp_path: Path) -> None:
    dead = Process(2**22 + 1, 1, 1, 5, "S", 1, "x")
    first = sightings.note(tmp_path, Sightings(), [dead], [(26, 7)])
    assert sightings.load(tmp_path) == first == Sightings(frozenset({(dead.pid, 5)}), frozenset({(26, 7)}))
    second = sightings.note(tmp_path, first, [me()], [(26, 8)])
    assert sightings.load(tmp_path) == second
    assert second == Sightings(frozenset({(me().pid, me().start_time)}), frozenset({(26, 7), (26, 8)}))


def test_nothing_is_written_where_nothing_is_new(tmp_path: Path) -> None:
    seen = sightings.note(tmp_path, Sightings(), [me()], [(26, 7)])
    (tmp_path / "seen.json").unlink()
    assert sightings.note(tmp_path, seen, [me()], []) == seen
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        '{"members": 1, "shm": []}',
        '{"members": [[1]], "shm": []}',
        '{"members": [[Infinity, 1]], "shm": []}',
        '{"members": [], "shm": [[1e999, NaN]]}',
    ],
)
def test_a_broken_note_says_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "seen.json").write_text(text)
    assert sightings.load(tmp_path) == Sightings()


def test_a_look_goes_on_where_nothing_can_be_written(tmp_path: Path) -> None:
    assert sightings.note(tmp_path / "none", Sightings(), [me()], []).members
