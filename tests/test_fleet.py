"""Replicas of one playbook behind the real vllm-router: up, asked, scaled, ended."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import routers, stand_in
from tests.deployments import Case
from tests.hub import Hub
from tests.ports import free_port
from tests.sshd import Settings, Sshd


@pytest.fixture
def case(tmp_path: Path, repositories: Path, start_sshd: Callable[[Settings], Sshd]) -> Iterator[Case]:
    """A playbook for CPUs on a host that has the router."""
    engine = stand_in.make(tmp_path / "vllm-0.18.0", version="0.18.0", cards=0)
    server = start_sshd(Settings(environment={"PATH": engine.path}))
    routers.put(server.home)
    with Hub(repositories) as hub:
        case = Case("small", server, engine, hub, tmp_path)
        case.content.update({"parallel": {"tensor": 1}, "needs": {"gpus": 0}, "port": free_port()})
        case.write()
        yield case
        case.deploy("fleet", "stop", "PLAYBOOK")


def asked(port: int, **more: object) -> str:
    body = json.dumps({"model": "tiny", "prompt": "2+2=", "max_tokens": 8, **more}).encode()
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/v1/completions", body, {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        return str(answer.read().decode())


def test_two_serve_as_one_and_one_is_ended(case: Case) -> None:
    port = int(str(case.content["port"]))
    left = case.deploy("fleet", "PLAYBOOK", "--replicas", "2", "--yes", "--json")
    assert left.code == 0, left.out + left.err
    (result,) = [event for event in left.of("result") if "replicas" in event]
    assert (result["ready"], result["urls"]) == (2, [f"http://127.0.0.1:{port}/v1"])
    assert {event.get("instance") for event in left.events} >= {"small-1", "small-2", "small-router"}
    assert asked(port, stream=True).rstrip().endswith("data: [DONE]")

    state = json.loads(case.deploy("fleet", "status", "PLAYBOOK", "--json").out)
    assert (state["state"], state["ready"]) == ("healthy", 2)
    assert [(each["state"], each["admitted"], each["requests"]) for each in state["replicas"]] == [
        ("healthy", True, 0)
    ] * 2
    table = case.deploy("fleet", "status", "PLAYBOOK").out
    print(table)
    assert table.splitlines()[0] == "small: healthy, 2 of 2 replicas ready"

    again = case.deploy("fleet", "PLAYBOOK", "--replicas", "1", "--yes")
    assert again.code == 0, again.out + again.err
    print(again.out, again.err)
    state = json.loads(case.deploy("fleet", "status", "PLAYBOOK", "--json").out)
    assert [each["state"] for each in state["replicas"]] == ["healthy", "stopped"]
    assert list(state["router"]["workers"]) == [state["replicas"][0]["url"]]
    assert '"text": " 4"' in asked(port)

    assert case.deploy("fleet", "stop", "PLAYBOOK").code == 0
    state = json.loads(case.deploy("fleet", "status", "PLAYBOOK", "--json").out)
    assert (state["state"], state["router"]["state"]) == ("down", "dead")
