"""What is shown of more hosts than a screen has lines."""

from __future__ import annotations

import io
from typing import Any

from rich.console import Console

from orchestrator.base.events import Event
from orchestrator.report.crowd import SHOWN, Crowd
from orchestrator.report.layout import plain
from orchestrator.report.plain import PlainLines
from orchestrator.report.terminal import Terminal
from orchestrator.report.underway import CurrentSteps
from tests.report.replay import Clock
from tests.report.screen import Screen

NAMES = [f"gpu{number:02}" for number in range(40)]


def begin(host: str, step: str = "connect", limit: float = 30.0) -> Event:
    return Event("step", f"to {host}", step, host, {"state": "started", "limit": limit})


def end(host: str, word: str, code: int, why: str | None = None) -> Event:
    return Event("end", word, "", host, {"why": why, "exit_code": code})


def stays(event: Event) -> list[str]:
    return [plain(line) for line in Crowd(40, Clock()).take(event, 80)]


def test_what_went_well_is_no_line_but_for_what_came_of_it() -> None:
    done = {"state": "ok", "seconds": 1.0}
    assert stays(Event("step", "whole", "verify", "gpu07", done)) == []
    assert stays(end("gpu07", "healthy", 0)) == []
    assert stays(Event("result", "healthy  http://gpu07:8000\n  model  x", "", "gpu07")) == [
        "ok  gpu07 healthy  http://gpu07:8000"
    ]
    assert stays(end("gpu03", "failed", 6, "fp8-kv-mla")) == ["!!  gpu03 failed: fp8-kv-mla"]
    (line,) = stays(Event("step", "no answer", "launch 1", "gpu07", {**done, "state": "failed"}))
    assert line.split()[:2] == ["[gpu07]", "!!"]


def test_of_failures_of_one_kind_the_first_are_lines() -> None:
    crowd = Crowd(40, Clock())
    lines = [crowd.take(end(host, "unreachable", 3), 80) for host in NAMES]
    assert sum(map(len, lines)) == SHOWN
    assert crowd.take(end("gpu40", "failed", 6, "fp8-kv-mla"), 80)


def test_what_one_host_said_is_not_said_again() -> None:
    crowd = Crowd(40, Clock())
    panel: dict[str, Any] = {"patch": "fp8-kv-mla"}
    said = [
        Event(kind, text, "", host, panel if kind == "finding" else {})
        for host in NAMES[:3]
        for kind, text in (("warning", "no swap"), ("plan", f"plan for {host}"), ("finding", f"why on {host}"))
    ]  # fmt: skip
    assert [bool(crowd.take(event, 80)) for event in said] == [True] * 3 + [False] * 6


def followed(events: list[Event]) -> tuple[Crowd, CurrentSteps]:
    clock = Clock()
    crowd, steps = Crowd(40, clock), CurrentSteps(clock)
    for event in events:
        clock.now += 0.1
        crowd.take(event, 80)
        steps.take(event)
    return crowd, steps


def test_all_hosts_are_counted_and_the_worst_are_those_nearest_to_their_limit() -> None:
    crowd, steps = followed(
        [
            *(begin(host) for host in NAMES[:20]),
            begin("gpu19", "launch 1", limit=3600.0),
            begin("gpu18", "launch 1", limit=1.0),
            end("gpu00", "healthy", 0),
            end("gpu01", "unreachable", 3),
        ]
    )
    lines = [plain(line) for line in crowd.head(steps.all(), 80)]
    assert lines == [
        "40 hosts: 1 done, 1 failed, 18 at work, 20 waiting; last: gpu01 unreachable",
        "  connect 18, launch 1 2",
    ]
    shown, more = crowd.worst(steps.all())
    assert (shown[0].host, len(shown), more) == ("gpu18", SHOWN, 20 - SHOWN)


def test_a_terminal_keeps_few_lines_and_a_pipe_hears_how_all_stand() -> None:
    clock, out = Clock(), io.StringIO()
    console = Console(file=out, force_terminal=True, width=80, height=24, legacy_windows=False)
    terminal = Terminal(out, several_hosts=True, crowd=Crowd(40, clock), clock=clock, console=console)
    piped = io.StringIO()
    lines = PlainLines(piped, several_hosts=True, crowd=Crowd(40, clock), clock=clock)
    for host in NAMES:
        for renderer in (terminal, lines):
            renderer.show(begin(host))
    clock.now += 2.0
    terminal.tick()
    lines.tick()
    lines.tick()
    screen = Screen(80)
    screen.feed(out.getvalue())
    rows = [row for row in screen.text.splitlines() if row.strip()]
    assert (rows[0], rows[-1], len(rows)) == ("40 hosts: 40 at work", "  and 32 more", SHOWN + 3)
    assert piped.getvalue() == "40 hosts: 40 at work\n  connect 40\n"
