"""The locks of a group are taken in one order, whatever the hosts are called, and all of them or none."""

from __future__ import annotations

from typing import ClassVar

import pytest

from orchestrator.base.errors import HostError, Locked
from orchestrator.job import Job
from orchestrator.loop import locks
from orchestrator.loop.locks import Locks
from orchestrator.loop.reading import Reading
from tests.jobs import Answering, job


class Placed(Reading):
    """A host that is where a test says."""

    def __init__(self, machine: str, role: str = "") -> None:
        super().__init__(job(Answering()), role)
        self.job.host.name = role or machine
        self._place = (machine, "boot", "/state")


class OneOf:
    """A lock of a host; those in `held` somebody else has."""

    taken: ClassVar[list[str]] = []
    held: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()

    def __init__(self, of: Job, doing: str) -> None:
        self.name = of.host.name

    def __enter__(self) -> OneOf:
        if self.name in self.held:
            raise Locked("locked", f"{self.name}: somebody deploys")
        self.taken.append(self.name)
        return self

    def __exit__(self, *_: object) -> None:
        self.taken.remove(self.name)

    def free_since(self, turn: str | None) -> bool:
        return turn == self.name

    def require(self) -> None:
        if self.name in self.lost:
            raise HostError("lock_lost", f"{self.name}: lost")


@pytest.fixture(autouse=True)
def taken(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setattr(locks, "Lock", OneOf)
    monkeypatch.setattr(OneOf, "taken", [])
    return OneOf.taken


@pytest.mark.parametrize("names", [("a", "b"), ("b", "a")])
def test_every_deployer_takes_them_in_the_same_order(names: tuple[str, ...], taken: list[str]) -> None:
    with Locks([Placed(name) for name in names], "trying") as held:
        assert taken == ["a", "b"]
        assert held.free_since(names)
        assert not held.free_since(names[::-1])
    assert taken == []


def test_where_one_cannot_be_had_all_are_given_back(
    taken: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OneOf, "held", ("b",))
    with pytest.raises(Locked), Locks([Placed("a"), Placed("b")], "trying"):
        pass
    assert taken == []


def test_nothing_is_done_on_any_host_once_one_lock_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OneOf, "lost", ("decode",))
    held = Locks([Placed("a", "prefill"), Placed("b", "decode")], "trying")
    with held, pytest.raises(HostError) as raised:
        held.require()
    assert raised.value.message == "decode on decode: lost"
