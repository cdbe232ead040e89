"""What the lock says of those who had it before."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from orchestrator.base.errors import Locked
from orchestrator.hosts.local import LocalHost
from orchestrator.loop.lock import Lock
from tests.jobs import job


class Stream:
    """The lock program on a host: answers once, and lives until it is closed."""

    def __init__(self, answer: Mapping[str, Any]) -> None:
        self._answer = answer
        self._closed = threading.Event()

    def values(self) -> Iterator[Any]:
        yield self._answer
        self._closed.wait()

    def write(self, data: bytes) -> None: ...

    def close(self) -> None:
        self._closed.set()


class Host(LocalHost):
    def __init__(self, answer: Mapping[str, Any]) -> None:
        super().__init__()
        self._answer = answer

    def stream_script(self, module: str, request: Mapping[str, Any]) -> Any:
        assert (module, request["instance"], request["doing"]) == ("lock", "kimi-k2.5", "trying")
        return Stream(self._answer)


@pytest.mark.parametrize(
    ("before", "seen", "free"),
    [
        ("a", "a", True),
        ("", "", True),  # never taken, then and now
        ("b", "a", False),  # somebody deployed in between
        ("a", "", False),
        ("a", None, False),  # somebody was at work when it was looked at
        (None, None, False),  # its last holder died with it
    ],
)
def test_what_was_seen_stands_while_nobody_had_the_lock(
    before: str | None, seen: str | None, free: bool
) -> None:
    with Host({"locked": True, "before": before}) as host, Lock(job(host), "trying") as lock:
        assert lock.free_since(seen) == free


def test_who_has_it_is_named() -> None:
    holder = {"who": "ml@laptop", "since": "09:12", "doing": "bringing it up"}
    with Host({"held_by": holder}) as host, pytest.raises(Locked) as raised, Lock(job(host), "trying"):
        pass
    assert "ml@laptop deploys kimi-k2.5 since 09:12" in raised.value.message
    assert raised.value.code == "locked"
