"""What becomes of a group of which a host does not answer any more."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from orchestrator.base.errors import DeployError, HostError
from orchestrator.loop.acting import Acting
from orchestrator.loop.consents import Consents
from orchestrator.loop.reading import Reading
from orchestrator.loop.vanished import end_the_rest
from tests.jobs import Answering, job

LOST = HostError("connection_lost", "the connection was lost")


class Away(Answering):
    def script(self, module: str, request: Any, **_: Any) -> Any:
        raise LOST


def reading(name: str, host: Answering, *, returns: bool | None = None) -> Reading:
    """A host of a group that is there or not; `returns`: whether it takes a new connection."""

    def reopened() -> Answering:
        if not returns:
            raise HostError("host_unreachable", f"{name} is unreachable")
        return Answering()

    host.name = name
    return Reading(replace(job(host), reopen=None if returns is None else reopened), f"rank of {name}")


def acting(reading: Reading) -> Acting:
    return Acting(reading, Consents(), lambda: None)


@pytest.mark.parametrize("returns", [None, True], ids=["nobody can tell", "it takes a new connection"])
def test_a_lost_connection_alone_ends_nothing(returns: bool | None) -> None:
    there = Answering(leftovers=None)
    group = [reading("a", there), reading("b", Away(), returns=returns)]
    assert end_the_rest(group, LOST, acting) is LOST
    assert [module for module, _ in there.asked] == ["leftovers"]


def test_nothing_is_ended_where_no_host_answers() -> None:
    group = [reading(name, Away(), returns=False) for name in "ab"]
    assert end_the_rest(group, LOST, acting) is LOST


def test_a_host_that_serves_alone_is_not_looked_for() -> None:
    assert end_the_rest([reading("a", Away(), returns=False)], LOST, acting) is LOST


def test_the_hosts_that_are_gone_are_named_where_the_others_cannot_be_ended() -> None:
    class Stubborn(Answering):
        def script(self, module: str, request: Any, **_: Any) -> Any:
            if module != "leftovers":
                raise DeployError("x", "it does not end")

    group = [reading("a", Stubborn()), reading("b", Away(), returns=False)]
    error = end_the_rest(group, LOST, acting)
    assert (error.code, error.exit_code) == ("host_vanished", 3)
    assert error.message.startswith("rank of b on b does not answer any more; what it left on the others")
