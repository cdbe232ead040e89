"""What a terminal shows while a run goes on and after it, at two widths, with and without colours."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from orchestrator.base.events import Event
from orchestrator.report.terminal import Terminal
from tests.report.replay import Clock, events, replay
from tests.report.screen import Screen
from tests.report.snapshots import check
from tests.waiting import eventually

MOMENTS = (1.2, 3.0, 530.0, 860.0, 884.0, 940.0, 1010.0)


class Seen:
    """A terminal of some width, and what was on it."""

    def __init__(self, width: int, *, no_color: bool = False, several_hosts: bool = False) -> None:
        self.out = io.StringIO()
        self.clock = Clock()
        self.screen = Screen(width)
        self.console = Console(
            file=self.out,
            force_terminal=True,
            color_system="standard",
            no_color=no_color,
            width=width,
            height=40,
            highlight=False,
            legacy_windows=False,
        )
        self.terminal = Terminal(
            self.out, several_hosts=several_hosts, clock=self.clock, console=self.console
        )
        self._read = 0

    def look(self) -> Screen:
        self.screen.feed(self.out.getvalue()[self._read :])
        self._read = len(self.out.getvalue())
        return self.screen


@pytest.mark.parametrize("width", [80, 140])
@pytest.mark.parametrize("no_color", [False, True])
def test_a_run(width: int, no_color: bool) -> None:
    seen = Seen(width, no_color=no_color)
    moments = list(MOMENTS)
    live: list[str] = []

    def each(seconds: float) -> None:
        screen = seen.look()
        if moments and seconds >= moments[0]:
            live.append(f"{moments.pop(0):7.1f}s {screen.rows[screen.row]}".rstrip())

    replay("story", seen.terminal, seen.clock, each, tick=1.0)
    text = "\n".join(["while it runs", *live, "", "when it is over", seen.look().text])
    check(f"story-{width}", text)
    colours = {code for code in seen.screen.styles if code.startswith(("3", "4", "9"))} - {"39", "49"}
    assert bool(colours) != no_color
    assert colours <= {"31", "32", "33", "36"}  # neither black nor white, no background


def test_the_cursor_rests_on_the_first_live_line_and_no_live_line_wraps() -> None:
    """What makes a resize harmless: a terminal keeps the cursor on its line, and erasing begins there."""
    seen = Seen(80, several_hosts=True)
    for host in ("gpu7", "gpu8"):
        for _, event in list(events("story"))[:4]:
            seen.terminal.show(Event(event.kind, event.text, event.step, host, event.data))
            seen.look()
    text = "loading " + "x" * 200
    for host in ("gpu7", "gpu8"):
        seen.terminal.show(Event("step", text, "launch 1", host, {"state": "started", "limit": 3900}))
    screen = seen.look()
    assert screen.column == 0
    assert len(screen.rows) - screen.row == 2
    assert all(len(row) < 80 for row in screen.rows[screen.row :])
    seen.console.width = 50
    seen.clock.now += 1
    seen.terminal.tick()
    screen = seen.look()
    assert all(len(row) < 50 for row in screen.rows[screen.row :])
    with seen.terminal.aside():
        assert seen.look().rows[seen.screen.row :] == [""]


def test_the_estimate_runs_down_between_two_words_of_the_engine() -> None:
    seen = Seen(80)
    seen.terminal.show(Event("step", "starting", "launch 1", "h", {"state": "started", "limit": 3900}))
    data = {"done": 71, "total": 119, "eta": 160}
    seen.terminal.show(Event("progress", "loading weights 71/119", "launch 1", "h", data))
    assert "eta 2m40s" in seen.look().rows[-1]
    seen.clock.now += 30
    seen.terminal.tick()
    assert "eta 2m10s" in seen.look().rows[-1]
    assert "30s" in seen.screen.rows[-1]


def test_text_of_others_cannot_steer_the_terminal() -> None:
    seen = Seen(80)
    seen.terminal.show(Event("note", "a\x1b[2Jb\x1b]0;title\x07c\x9b31md", host="h"))
    assert seen.look().text == r"a\x1b[2Jb\x1b]0;title\x07c\x9b31md" + "\n"


def test_after_its_end_nothing_is_written() -> None:
    seen = Seen(80)
    with seen.terminal:
        seen.terminal.show(Event("step", "starting", "launch 1", "h", {"state": "started", "limit": None}))
    assert seen.look().text == "\n"
    seen.terminal.show(Event("note", "late", host="h"))
    assert seen.look().text == "\n"


LONG_STEPS = """
import sys, time
from orchestrator.report.choose import display
from orchestrator.base.events import Report
with display(sys.stdout, as_json=False, hosts=2) as shown:
    reports = [Report(shown, host) for host in ("gpu7", "gpu8")]
    for number in range(15):
        for report in reports:
            report.emit("step", f"number {number}", step="verify", state="ok", seconds=0.1)
    for report in reports:
        report.emit("step", "loading the weights of all of the shards", step="launch 1", state="started", limit=3900)
    open(sys.argv[1]).read()
    for report in reports:
        report.emit("step", "healthy", step="launch 1", state="ok", seconds=9.0)
sys.stdin.readline()
"""


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_a_resize_leaves_no_copies_behind(tmp_path: Path) -> None:
    """A real tmux, which wraps lines anew: narrow, wide, narrower than any live line, and back.

    The screen is full, as it soon is: on an empty one tmux 3.3 scrolls the wrapped lines out of reach.
    """
    program = tmp_path / "steps.py"
    program.write_text(LONG_STEPS)
    go = tmp_path / "go"
    os.mkfifo(go)
    socket = ["tmux", "-S", str(tmp_path / "socket"), "-f", "/dev/null"]
    environment = {
        "PATH": os.environ["PATH"],
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }

    def tmux(*words: str) -> str:
        done = subprocess.run([*socket, *words], env=environment, capture_output=True, text=True, check=True)
        return done.stdout

    def shown() -> list[str]:
        return [line for line in tmux("capture-pane", "-p", "-S", "-", "-t", "it").splitlines() if line]

    tmux("new-session", "-d", "-s", "it", "-x", "100", "-y", "20", f"exec {sys.executable} {program} {go}")
    try:
        eventually(lambda: sum("loading" in line for line in shown()) == 2)
        for columns in (60, 120, 34, 100):
            tmux("resize-window", "-t", "it", "-x", str(columns), "-y", "20")
            before = shown()
            eventually(lambda: shown() != before)  # noqa: B023 (asked within this turn)
            # a part of the next frame may be all that is drawn so far; a copy would stay for good
            eventually(lambda: sum("launch 1" in line for line in shown()) == 2)
        go.write_text("")
        eventually(lambda: sum("healthy" in line for line in shown()) == 2)
        assert sum("loading" in line for line in shown()) == 0
        assert sum(" verify " in line for line in shown()) == 30
    finally:
        tmux("kill-server")
