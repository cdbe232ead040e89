"""What the router is told of replicas, and what is made of its answers."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from orchestrator.base.errors import LaunchFailed, PreflightRefused
from orchestrator.engines.vllm.router import ROUTER
from orchestrator.fleet.replica import Replica
from orchestrator.loop import routing as loop
from orchestrator.loop.balancer import in_flight
from orchestrator.loop.routing import Routing
from tests.jobs import Answering, job

ONE, TWO = (Replica("m", number, "a", "127.0.0.1", 8000 + number) for number in (1, 2))


class Router(Answering):
    """The one that is seen in the wild: 200 for whatever it is told. `sick` are URLs that it never takes for healthy."""

    def __init__(self, *urls: str, sick: str = "", deaf: bool = False) -> None:
        super().__init__()
        self.urls, self.sick, self.deaf = list(urls), sick, deaf

    def script(self, module: str, request: Any, **_: Any) -> Any:
        assert module == "ask_server"
        self.asked.append((module, request["path"]))
        path = urlsplit(request["path"])
        if path.path == "/workers":
            listed = [{"url": url, "is_healthy": url != self.sick} for url in self.urls]
            return {"status": 200, "text": json.dumps({"workers": listed})}
        if path.path == ROUTER.alive_path:
            return {"status": 200, "text": "OK"}
        (url,) = parse_qs(path.query)["url"]
        if not self.deaf:
            self.urls = [other for other in self.urls if other != url]
            self.urls += [url] if path.path == "/add_worker" else []
        return {"status": 200, "text": f"Successfully did it: {url}"}


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ADMIT_SECONDS", "ASK_SECONDS"):
        monkeypatch.setattr(loop, name, 0.3)
    monkeypatch.setattr(loop, "INTERVAL_SECONDS", 0.001)


def test_it_is_told_only_what_it_does_not_know() -> None:
    router = Router(ONE.url)
    routing = Routing(job(router), ROUTER)
    routing.admit(ONE)
    routing.withdraw(TWO)
    assert {path for _, path in router.asked} == {"/workers"}
    routing.admit(TWO)
    assert router.urls == [ONE.url, TWO.url]
    routing.withdraw(ONE)
    assert router.urls == [TWO.url]


def test_its_word_proves_nothing() -> None:
    with pytest.raises(LaunchFailed, match="keeps m-1: Successfully did it"):
        Routing(job(Router(ONE.url, deaf=True)), ROUTER).withdraw(ONE)
    with pytest.raises(LaunchFailed, match=r"does not take m-2 at http://127\.0\.0\.1:8002 for healthy"):
        Routing(job(Router(sick=TWO.url)), ROUTER).admit(TWO)


def test_nothing_is_sent_to_where_a_replica_was_once() -> None:
    router = Router(ONE.url, "http://10.0.0.9:8007", TWO.url)
    Routing(job(router), ROUTER).keep([ONE, TWO])
    assert router.urls == [ONE.url, TWO.url]


def test_one_that_has_a_replica_which_is_not_healthy_is_not_started_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    router = Router(ONE.url, TWO.url, sick=TWO.url)
    routing = Routing(job(router), ROUTER)
    seen = SimpleNamespace(health=503, listens=True)  # its /health is that of all that it has
    monkeypatch.setattr(routing.reading, "observe", lambda: (seen, None))
    routing.begin()
    assert router.asked == [("ask_server", ROUTER.alive_path)]


def test_an_address_that_others_reach_needs_a_consent(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = job(Router())
    playbook = asked.playbook.with_overrides(["listen=0.0.0.0", "consents=null"])
    routing = Routing(replace(asked, playbook=playbook), ROUTER)
    monkeypatch.setattr(routing.reading, "observe", lambda: (SimpleNamespace(listens=False), None))
    with pytest.raises(PreflightRefused, match="listen-openly") as refused:
        routing.begin()
    assert refused.value.known["consent"] == "listen-openly"


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ('vllm:num_requests_running{engine="0"} 3.0\nvllm:num_requests_waiting{engine="0"} 2.0\n', 5),
        ('vllm:num_requests_running{engine="0"} 0.0\nvllm:num_requests_waiting{engine="0"} 0.0\n', 0),
        ('vllm:num_requests_running{engine="0"} 0.0\n', None),
        ("", None),
    ],
)
def test_what_a_replica_has_is_what_runs_and_what_waits(text: str, count: int | None) -> None:
    assert in_flight(job(Answering(ask_server={"status": 200, "text": text}))) == count
    assert in_flight(job(Answering(ask_server={"status": None, "text": "refused"}))) is None
