"""Nothing is silent for more than two seconds: real time, a real pseudo-terminal, a step that does nothing."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from pathlib import Path

from tests.pseudo_terminal import OnTerminal

TERMINALS = ("xterm-256color", "dumb")
IDLE = """
import sys, threading, time
from pathlib import Path
from orchestrator.report.choose import display
from orchestrator.base.events import Report

starved = 0.0
def notice():
    global starved
    while True:
        began = time.monotonic()
        time.sleep(0.02)
        starved = max(starved, time.monotonic() - began - 0.02)
threading.Thread(target=notice, daemon=True).start()

with display(sys.stdout, as_json=False) as shown:
    report = Report(shown, "gpu7")
    with report.wait("connect", "to gpu7", limit=30):
        time.sleep(1.2)
    with report.step("launch 1", "loading weights", limit=3900) as step:
        time.sleep(3.6)
Path(sys.argv[1]).write_text(str(starved))
"""
"""Its last act is to tell for how long at most it was not given a processor."""


def test_a_step_that_does_nothing_shows_what_is_waited_for_and_for_how_long(tmp_path: Path) -> None:
    kept = {name: os.environ[name] for name in ("PATH", "COVERAGE_FILE") if name in os.environ}
    environment = {**kept, "PYTHONPATH": str(Path(__file__).parents[2])}
    with ExitStack() as stack:
        fancy, plain = (
            stack.enter_context(
                OnTerminal([sys.executable, "-c", IDLE, str(tmp_path / term)], environment, term=term)
            )
            for term in TERMINALS
        )
        assert (fancy.end(), plain.end()) == (0, 0)
        for one, term in zip((fancy, plain), TERMINALS, strict=True):
            assert one.computed_before_first_word < 2.0
            assert one.longest_silence() < 2.0 + float((tmp_path / term).read_text())
            assert one.text.count("loading weights") >= 2
            assert "at most 1h05m" in one.text
        assert "\x1b[J" in fancy.raw
        assert "\x1b" not in plain.raw
        assert "3s" in fancy.text
