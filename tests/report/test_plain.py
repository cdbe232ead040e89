"""Appended lines: what a CI log holds of a run."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest

from orchestrator.base.events import Event
from orchestrator.report.plain import PlainLines
from tests.report.replay import TICK, Clock, events, replay
from tests.report.snapshots import check


def test_a_run() -> None:
    out, clock = io.StringIO(), Clock()
    replay("story", PlainLines(out, clock=clock), clock)
    assert max(len(line) for line in out.getvalue().splitlines()) <= 80
    check("story-plain", out.getvalue())


def test_several_hosts_have_a_prefix_and_the_same_width() -> None:
    out, clock = io.StringIO(), Clock()
    lines = PlainLines(out, several_hosts=True, clock=clock)
    for at, event in events("story"):
        clock.now = 1000.0 + at
        if event.kind == "step":
            lines.show(event)
            lines.show(replace(event, host="gpu8"))
    shown = out.getvalue().splitlines()
    assert {line.split("]")[0] for line in shown if line.startswith("[")} == {"[gpu7", "[gpu8"}
    assert max(len(line) for line in shown) <= 80


def test_a_step_that_ends_soon_is_one_line() -> None:
    out, clock = io.StringIO(), Clock()
    lines = PlainLines(out, clock=clock)
    lines.show(Event("step", "", "verify", "h", {"state": "started", "limit": None}))
    clock.now += 1.0
    lines.tick()
    lines.show(Event("step", "whole", "verify", "h", {"state": "ok", "seconds": 1.0}))
    assert out.getvalue().splitlines() == [f"{'  ok  verify     whole':<76}1.0s"]


@pytest.mark.parametrize("limit", [None, 1800.0])
def test_a_wait_is_announced_in_time_and_each_line_says_when_the_next_comes(limit: float | None) -> None:
    out, clock = io.StringIO(), Clock()
    lines = PlainLines(out, clock=clock)
    spoke = [clock.now]
    lines.show(Event("step", "starting workers", "launch 1", "h", {"state": "started", "limit": limit}))
    promised = 2.0
    size = 0
    for _ in range(int(120 / TICK)):
        clock.now += TICK
        lines.tick()
        if len(out.getvalue()) > size:
            assert clock.now - spoke[-1] <= promised + TICK
            new = out.getvalue()[size:]
            assert new.count("\n") == 1
            assert "starting workers" in new
            assert ("at most 30m" in new) == (limit is not None)
            promised = float(new.split("next in ")[1].rstrip("s\n")) if "next in" in new else 2.0
            spoke.append(clock.now)
            size = len(out.getvalue())
    assert clock.now - spoke[-1] <= promised + TICK
    assert len(spoke) < 12


def test_a_new_phase_is_told_before_the_next_line_is_due() -> None:
    out, clock = io.StringIO(), Clock()
    lines = PlainLines(out, clock=clock)
    lines.show(Event("step", "starting", "launch 1", "h", {"state": "started", "limit": 60.0}))
    for _ in range(120):
        clock.now += TICK
        lines.tick()
    before = len(out.getvalue().splitlines())
    lines.show(Event("progress", "profiling", "launch 1", "h", {"phase": "profiling"}))
    for _ in range(8):
        clock.now += TICK
        lines.tick()
    (new,) = out.getvalue().splitlines()[before:]
    assert "profiling" in new
