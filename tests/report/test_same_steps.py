"""What hosts that serve one model together did alike is one line."""

from __future__ import annotations

import io

import pytest

from orchestrator.base.events import Event
from orchestrator.report.plain import PlainLines
from orchestrator.report.same_steps import HOLD_SECONDS, SameSteps
from orchestrator.report.terminal import Terminal
from tests.report.replay import Clock


def ended(host: str, step: str, text: str = "whole", state: str = "ok", seconds: float = 0.1) -> Event:
    return Event("step", text, step, host, {"state": state, "seconds": seconds})


def shown(events: list[Event]) -> list[tuple[str, str, str]]:
    return [(event.host, event.step, event.text) for event in events]


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_what_all_did_is_one_line_with_the_time_of_the_slowest(clock: Clock) -> None:
    steps = SameSteps(2, clock)
    assert steps.take(ended("a", "verify", seconds=0.2)) == []
    assert steps.take(ended("a", "patch", "2 files")) == []
    (verified,) = steps.take(ended("b", "verify", seconds=0.7))
    assert shown([verified]) == [("", "verify", "on 2 hosts: whole")]
    assert verified.data["seconds"] == 0.7
    assert shown(steps.take(ended("b", "patch", "2 files"))) == [("", "patch", "on 2 hosts: 2 files")]


def test_what_differs_names_its_hosts(clock: Clock) -> None:
    steps = SameSteps(2, clock)
    steps.take(ended("a", "clean", "9 processes"))
    assert shown(steps.take(ended("b", "clean", "4 processes"))) == [
        ("a", "clean", "9 processes"), ("b", "clean", "4 processes"),
    ]  # fmt: skip


def test_a_slow_host_keeps_no_line_back(clock: Clock) -> None:
    steps = SameSteps(3, clock)
    steps.take(ended("a", "download"))
    assert steps.due() == []
    clock.now += HOLD_SECONDS
    assert shown(steps.due()) == [("a", "download", "whole")]
    assert shown(steps.take(ended("b", "download"))) == [("b", "download", "whole")]
    assert shown(steps.take(ended("c", "download"))) == [("c", "download", "whole")]
    steps.take(ended("a", "download"))  # all of them begin anew
    assert steps.rest() != []


def test_what_did_not_go_well_is_told_at_once_behind_what_was_held(clock: Clock) -> None:
    steps = SameSteps(2, clock)
    steps.take(ended("a", "verify"))
    failed = ended("b", "launch 1", "exit status 1", "failed")
    assert shown(steps.take(failed)) == [("a", "verify", "whole"), ("b", "launch 1", "exit status 1")]
    assert steps.take(Event("progress", "1 of 2", "download", "a")) == []


def test_both_renderers_show_it(clock: Clock) -> None:
    plain, drawn = io.StringIO(), io.StringIO()
    renderers = (
        PlainLines(plain, several_hosts=True, same_steps=SameSteps(2, clock), clock=clock),
        Terminal(drawn, several_hosts=True, same_steps=SameSteps(2, clock), clock=clock),
    )
    for renderer in renderers:
        with renderer:
            renderer.show(ended("a", "verify"))
            renderer.show(ended("b", "verify"))
            renderer.show(ended("a", "smoke", "8 tokens"))
    assert plain.getvalue().splitlines() == [
        f"{'  ok  verify     on 2 hosts: whole':<76}0.1s",
        f"[a] {'  ok  smoke      8 tokens':<72}0.1s",
    ]
    assert "on 2 hosts: whole" in drawn.getvalue()
    assert "8 tokens" in drawn.getvalue()
