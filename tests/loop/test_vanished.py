"""What becomes of a group of which a host does not answer any more."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from orchestrator.base.errors import DeployError, HostError
from orchestrator.hosts.host import Completed
from orchestrator.loop import vanished
from orchestrator.loop.acting import Acting
from orchestrator.loop.consents import Consents
from orchestrator.loop.reading import Reading
from orchestrator.loop.vanished import end_the_rest
from tests.jobs import Answering, job

LOST = HostError("connection_lost", "the connection was lost")
LIVING = {"launch": 1, "supervised": True, "processes": [], "cards": {}}


class There(Answering):
    def run(self, command: str, *, deadline: float = 30.0) -> Any:
        return Completed(0, b"", b"")


class Away(Answering):
    def __init__(self, error: HostError = LOST) -> None:
        super().__init__()
        self.error = error

    def run(self, command: str, *, deadline: float = 30.0) -> Any:
        raise self.error

    def script(self, module: str, request: Any, **_: Any) -> Any:
        raise self.error


def reading(name: str, host: Answering, *, returns: bool | None = None, lives: Any = LIVING) -> Reading:
    """A host of a group that is there or not; `returns`: whether it takes a new connection, and what lives there then."""

    def reopened() -> Answering:
        if not returns:
            raise HostError("host_unreachable", f"{name} is unreachable")
        return Answering(leftovers=lives)

    host.name = name
    return Reading(replace(job(host), reopen=None if returns is None else reopened), f"rank of {name}")


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vanished, "GOING_SECONDS", 0.0)


def acting(reading: Reading) -> Acting:
    return Acting(reading, Consents(), lambda: None)


@pytest.mark.parametrize("returns", [None, True], ids=["nobody can tell", "it takes a new connection"])
def test_a_lost_connection_alone_ends_nothing(returns: bool | None) -> None:
    there = There(leftovers=LIVING)
    group = [reading("a", there), reading("b", Away(), returns=returns)]
    assert end_the_rest(group, LOST, acting) is LOST
    assert {module for module, _ in there.asked} == {"leftovers"}


def test_a_host_that_only_lets_nobody_in_any_more_is_there() -> None:
    def refused() -> Answering:
        raise HostError("auth_refused", "the key has run out")

    away = reading("b", Away(), returns=True)
    away.job = replace(away.job, reopen=refused)
    assert end_the_rest([reading("a", There(leftovers=LIVING)), away], LOST, acting) is LOST


class Ended(There):
    """A host whose launch can be asked for; it ends no further than that it was begun."""

    def __init__(self) -> None:
        super().__init__(leftovers=LIVING)

    def script(self, module: str, request: Any, **_: Any) -> Any:
        if module != "leftovers":
            raise DeployError("x", "it does not end")
        return super().script(module, request)


def test_a_host_that_is_back_without_its_launch_is_as_lost_to_the_others_as_one_that_is_gone() -> None:
    group = [reading("a", Ended()), reading("b", Away(), returns=True, lives=None)]
    error = end_the_rest(group, LOST, acting)
    assert error.code == "host_vanished"
    assert error.message.startswith("rank of b on b answers, and its part of the launch is gone; ")


class GoingDown(There):
    """Its programs are ended before its network."""

    def __init__(self) -> None:
        super().__init__(leftovers=LIVING)

    def script(self, module: str, request: Any, **_: Any) -> Any:
        lives, self.answers["leftovers"] = self.answers["leftovers"], None
        return lives


def test_a_host_that_is_being_shut_down_is_lost_though_it_answers_for_a_moment() -> None:
    """Its lock was the first that ended: told as that alone, the head's processes went on."""
    group = [reading("a", Ended()), reading("b", GoingDown(), returns=True)]
    error = end_the_rest(group, HostError("lock_lost", "the lock was lost"), acting)
    assert error.code == "host_vanished"
    assert error.message.startswith("rank of b on b answers, and its part of the launch is gone; ")


def test_a_host_that_vanishes_before_anything_was_launched_is_named() -> None:
    group = [reading("a", There(leftovers=None)), reading("b", Away(), returns=False)]
    group[0].job.host.answers["observe"] = None  # type: ignore[attr-defined]
    error = end_the_rest(group, LOST, acting)
    assert error.message.startswith("rank of b on b does not answer any more; ")


def test_where_nothing_had_been_launched_a_host_that_is_back_has_lost_nothing() -> None:
    group = [reading("a", There(leftovers=None)), reading("b", Away(), returns=True, lives=None)]
    assert end_the_rest(group, LOST, acting) is LOST


class Slow(Answering):
    """Says nothing in time when it is first asked."""

    def __init__(self, *ends: HostError | None) -> None:
        super().__init__(leftovers=LIVING)
        self.ends = list(ends)

    def run(self, command: str, *, deadline: float = 30.0) -> Any:
        if (end := self.ends.pop(0)) is not None:
            raise end


SILENT = HostError("deadline", "it did not finish : within 10 s")
REFUSED = HostError("channel_refused", "it refused another channel on this connection")


@pytest.mark.parametrize("ends", [(SILENT, None), (REFUSED,)], ids=["slow", "without another channel"])
def test_a_host_without_a_moment_to_spare_is_not_gone(ends: tuple[HostError | None, ...]) -> None:
    """Where it counted as gone beside one that is, nothing was ended on it: all seemed to be away."""
    group = [reading("a", Slow(*ends), returns=False), reading("b", Away(), returns=False)]
    group[0].job.host.answers["observe"] = None  # type: ignore[attr-defined]
    error = end_the_rest(group, HostError("lock_lost", "the lock was lost"), acting)
    assert error.code == "host_vanished"
    assert error.message.startswith("rank of b on b does not answer any more; ")


def test_nothing_is_ended_where_no_host_answers() -> None:
    group = [reading(name, Away(), returns=False) for name in "ab"]
    assert end_the_rest(group, LOST, acting) is LOST


def test_a_host_that_serves_alone_is_not_looked_for() -> None:
    assert end_the_rest([reading("a", Away(), returns=False)], LOST, acting) is LOST


def test_the_hosts_that_are_gone_are_named_where_the_others_cannot_be_ended() -> None:
    group = [reading("a", Ended()), reading("b", Away(), returns=False)]
    error = end_the_rest(group, LOST, acting)
    assert (error.code, error.exit_code) == ("host_vanished", 3)
    assert error.message.startswith(
        "rank of b on b does not answer any more; what waits for it on rank of a on a"
    )
