"""A fleet behind somebody's own HAProxy."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.base.errors import LaunchFailed, PreflightRefused
from orchestrator.fleet.replica import Replica
from orchestrator.loop import haproxy as loop
from orchestrator.loop.haproxy import Haproxy
from tests.jobs import Answering, job

REPLICAS = tuple(Replica("m", number, "a", "127.0.0.1", 8000 + number) for number in (1, 2))


class Proxy(Answering):
    """Its servers by name with their status; `deaf`: it does what it is told no more."""

    def __init__(self, **servers: str) -> None:
        super().__init__()
        self.servers = {name.replace("_", "-"): status for name, status in servers.items()}
        self.deaf = False

    def script(self, module: str, request: Any, **_: Any) -> Any:
        assert module == "haproxy"
        words = request["command"].split()
        if words[:2] == ["set", "server"]:
            name = words[2].partition("/")[2]
            if not self.deaf:
                self.servers[name] = {"drain": "DRAIN", "ready": "UP"}[words[4]]
            return {"text": "\n"}
        rows = [f"m,{name},{status}" for name, status in {**self.servers, "BACKEND": "UP"}.items()]
        return {"text": "\n".join(["# pxname,svname,status", *rows, ""])}


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "CHANGE_SECONDS", 0.3)
    monkeypatch.setattr(loop, "INTERVAL_SECONDS", 0.001)


def test_a_replica_is_drained_and_put_back() -> None:
    proxy = Proxy(m_1="UP", m_2="UP")
    balancer = Haproxy(job(proxy), "/run/h.sock", REPLICAS)
    balancer.begin()
    balancer.withdraw(REPLICAS[0])
    assert proxy.servers == {"m-1": "DRAIN", "m-2": "UP"}
    assert [balancer.listed().admitted(replica) for replica in REPLICAS] == [False, True]
    balancer.admit(REPLICAS[0])
    assert proxy.servers == {"m-1": "UP", "m-2": "UP"}


def test_a_backend_that_lacks_one_is_refused_before_anything_is_done() -> None:
    balancer = Haproxy(job(Proxy(m_1="UP")), "/run/h.sock", REPLICAS)
    with pytest.raises(PreflightRefused, match=r"has no server m-2; it has m-1"):
        balancer.begin()


def test_what_it_does_not_do_is_told() -> None:
    proxy = Proxy(m_1="UP", m_2="DOWN")
    proxy.deaf = True
    balancer = Haproxy(job(proxy), "/run/h.sock", REPLICAS)
    with pytest.raises(LaunchFailed, match="HAProxy keeps m-1"):
        balancer.withdraw(REPLICAS[0])
    with pytest.raises(LaunchFailed, match="does not take m-2 for healthy"):
        balancer.admit(REPLICAS[1])
