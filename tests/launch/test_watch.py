"""A launch is followed by two streams that end when they please."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

import pytest

from orchestrator.hosts.host import Host
from orchestrator.launch.watch import GivenUp, Seen, Watch
from orchestrator.programs.watch import FollowLaunch

SECONDS = 10.0

FOLLOW = FollowLaunch(
    instance="tiny", launch=1, host="127.0.0.1", port=8000, model="tiny", interval=1.0, health_path="/health"
)


class Feed:
    """A stream of a host that gives what a test puts in, until it is closed."""

    def __init__(self) -> None:
        self._arriving: queue.Queue[Any] = queue.Queue()

    def put(self, *values: Any) -> None:
        for value in values:
            self._arriving.put(value)

    def values(self) -> Iterator[Any]:
        while (value := self._arriving.get()) is not None:
            yield value

    chunks = values

    def close(self) -> None:
        self._arriving.put(None)


class Followed:
    """A host with a log and a `watch` program, and what was heard of them."""

    def __init__(self) -> None:
        self.states, self.log = Feed(), Feed()
        self.text = b""
        self.arrived = threading.Event()

    def stream_script(self, module: str, request: Mapping[str, Any]) -> Feed:
        return self.states

    def stream(self, argv: Sequence[str]) -> Feed:
        return self.log

    def heard(self, chunk: bytes) -> None:
        self.text += chunk
        self.arrived.set()

    def watch(self, *, given_up: Callable[[], GivenUp | None] = lambda: None, on_log: Any = None) -> Watch:
        host = cast(Host, self)
        return Watch(
            host,
            log="/log",
            request=FOLLOW,
            on_log=on_log or self.heard,
            on_wait=lambda seconds, work: None,
            given_up=given_up,
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


def test_an_error_while_the_log_is_told_reaches_who_follows() -> None:
    def broken(chunk: bytes) -> None:
        raise BrokenPipeError

    one = Followed()
    with one.watch(on_log=broken) as watch:
        one.log.put(b"line\n")
        with pytest.raises(BrokenPipeError):
            watch.until_ready(SECONDS)
