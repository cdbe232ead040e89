"""A launch is followed by two streams that end when they please."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from orchestrator.base.errors import Halted, HostError
from orchestrator.launch import watch as watching
from orchestrator.launch.watch import GivenUp, Seen, Watch
from orchestrator.programs.watch import FollowLaunch
from tests.launch.following import Following
from tests.waiting import eventually

SECONDS = 10.0

FOLLOW = FollowLaunch(
    instance="tiny", launch=1, host="127.0.0.1", port=8000, model="tiny", interval=1.0, health_path="/health"
)


class Followed(Following):
    """A host that is followed, and what was heard of it."""

    def __init__(self) -> None:
        super().__init__()
        self.text = b""
        self.arrived = threading.Event()

    def heard(self, chunk: bytes) -> None:
        self.text += chunk
        self.arrived.set()

    def watch(
        self,
        *,
        given_up: Callable[[], GivenUp | None] = lambda: None,
        on_log: Any = None,
        proceed: Callable[[], None] = lambda: None,
    ) -> Watch:
        return Watch(
            self,
            log="/log",
            request=FOLLOW,
            on_log=on_log or self.heard,
            on_wait=lambda seconds, work: None,
            given_up=given_up,
            proceed=proceed,
        )


def test_the_log_is_handed_on_while_nobody_waits_for_the_engine() -> None:
    one = Followed()
    with one.watch() as watch:
        one.log.put(b"first\nsec")
        assert one.arrived.wait(SECONDS)
        assert one.text == b"first\nsec"
        assert list(watch.log_lines()) == [b"first\n", b"sec"]


def test_what_the_engine_wrote_before_it_ended_is_taken_to_the_last_byte() -> None:
    one = Followed()
    with one.watch() as watch:
        one.states.put({"exited": 1, "log_bytes": 9, "members": []})
        threading.Timer(0.05, one.log.put, (b"one\n", b"two\nt")).start()
        assert watch.until_ready(SECONDS) == Seen("exited", exit_code=1)
        assert one.text == b"one\ntwo\nt\n"


def test_a_launch_that_is_given_up_is_not_waited_for() -> None:
    one = Followed()
    with one.watch(given_up=lambda: "lingering" if one.arrived.is_set() else None) as watch:
        one.log.put(b"it is over\n")
        assert watch.until_ready(SECONDS) == Seen("lingering")


def test_a_launch_that_its_group_gives_up_is_followed_no_longer() -> None:
    one = Followed()

    def proceed() -> None:
        if one.arrived.is_set():
            raise Halted

    with one.watch(proceed=proceed) as watch, pytest.raises(Halted):
        one.log.put(b"another host failed\n")
        watch.until_exit(SECONDS)


def test_an_error_while_the_log_is_told_reaches_who_follows() -> None:
    def broken(chunk: bytes) -> None:
        raise BrokenPipeError

    one = Followed()
    with one.watch(on_log=broken) as watch:
        one.log.put(b"line\n")
        with pytest.raises(BrokenPipeError):
            watch.until_ready(SECONDS)


def test_one_whose_group_has_failed_is_listened_to_until_it_is_quiet() -> None:
    def proceed() -> None:
        raise Halted

    one = Followed()
    with one.watch(proceed=proceed) as watch:
        one.log.put(b"a peer is gone\n")
        assert watch.until_quiet(SECONDS, 0.05) == Seen("late")
        assert one.text == b"a peer is gone\n"
        one.states.put({"exited": 1, "log_bytes": 15, "members": []})
        assert watch.until_quiet(SECONDS, SECONDS) == Seen("exited", exit_code=1)


def test_when_a_line_came_is_known_once_it_is_whole() -> None:
    one = Followed()
    with one.watch() as watch:
        one.log.put(b"first\nsec")
        assert one.arrived.wait(SECONDS)
        first = eventually(lambda: watch.arrived(1))
        assert watch.arrived(2) is None
        one.log.put(b"ond\n")
        assert eventually(lambda: watch.arrived(2)) >= first


def test_a_host_that_says_nothing_any_more_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """A network that is cut ends no connection: it was waited for until the launch's own time was over."""
    monkeypatch.setattr(watching, "SILENT_SECONDS", 0.5)
    one = Followed()
    with one.watch() as watch, pytest.raises(HostError) as raised:
        while True:  # as one is followed that waits for others: for a moment each time
            watch.until_exit(0.1)
    assert raised.value.code == "connection_lost"
    assert "has said nothing for 0.5 s" in raised.value.message
