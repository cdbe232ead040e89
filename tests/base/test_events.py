"""What a renderer is told of a step: when it starts, how far it is, how it ended."""

from __future__ import annotations

import pytest

from orchestrator.base.errors import Halted
from orchestrator.base.events import Event, Report


class Shown:
    def __init__(self) -> None:
        self.events: list[Event] = []

    def show(self, event: Event) -> None:
        self.events.append(event)


def test_a_step_is_told_from_its_start_to_its_end() -> None:
    shown = Shown()
    with Report(shown, "node-a").step("download", "from the Hub", limit=60.0) as step:
        step.progress("half", done=1, total=2)
        step.done, step.state, step.data = "nothing to fetch", "skipped", {"bytes": 0}
    started, half, ended = shown.events
    assert started == Event("step", "from the Hub", "download", "node-a", {"state": "started", "limit": 60.0})
    assert half == Event("progress", "half", "download", "node-a", {"done": 1, "total": 2})
    assert (ended.kind, ended.text, ended.step) == ("step", "nothing to fetch", "download")
    assert (ended.data["state"], ended.data["bytes"]) == ("skipped", 0)
    assert 0 <= ended.data["seconds"] < 60


@pytest.mark.parametrize(
    ("error", "state", "text"),
    [
        (ValueError("x"), "failed", "from the Hub"),
        (KeyboardInterrupt(), "interrupted", ""),
        (Halted(), "halted", ""),
    ],
)
def test_a_step_that_does_not_come_to_its_end_says_so(error: BaseException, state: str, text: str) -> None:
    shown = Shown()
    with pytest.raises(type(error)), Report(shown, "node-a").step("download", "from the Hub"):
        raise error
    assert (shown.events[-1].data["state"], shown.events[-1].text) == (state, text)
    assert shown.events[0].data["limit"] is None


def test_a_step_that_failed_keeps_its_own_words() -> None:
    shown = Shown()
    with (
        pytest.raises(ValueError, match="x"),
        Report(shown, "node-a").step("download", "from the Hub") as step,
    ):
        step.done = "3 of 4 files"
        raise ValueError("x")
    assert shown.events[-1].text == "3 of 4 files"


def test_a_wait_is_told_as_one() -> None:
    shown = Shown()
    with Report(shown, "node-a").wait("lock", "somebody deploys", limit=5.0):
        pass
    assert [(event.kind, event.step, event.data["state"]) for event in shown.events] == [
        ("wait", "lock", "started"),
        ("wait", "lock", "ok"),
    ]
    assert shown.events[0].data["limit"] == 5.0


def test_no_event_tells_a_secret_in_its_text_or_its_data() -> None:
    shown = Shown()
    Report(shown, "node-a").emit(
        "note", "HF_TOKEN=hf_abcdefghijklmnop", hint={"HF_TOKEN": "hf_abcdefghijklmnop"}
    )
    assert "hf_abcdefghijklmnop" not in repr(shown.events)
    assert shown.events[0].text.startswith("HF_TOKEN=")
