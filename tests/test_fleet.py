"""Replicas of one playbook behind the real vllm-router: up, asked, scaled, ended."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.rehearsal.clients import LoadClients
from tests import routers, stand_in
from tests.deployments import Case
from tests.hub import Hub
from tests.ports import free_port
from tests.sshd import Settings, Sshd


@pytest.fixture
def case(tmp_path: Path, repositories: Path, start_sshd: Callable[[Settings], Sshd]) -> Iterator[Case]:
    """A playbook for two cards on a host that has four, and the router."""
    engine = stand_in.make(tmp_path / "vllm-0.18.0", version="0.18.0", cards=4)
    server = start_sshd(Settings(environment={"PATH": engine.path}))
    routers.put(server.home)
    with Hub(repositories) as hub:
        case = Case("small", server, engine, hub, tmp_path)
        case.content.update({"parallel": {"tensor": 2}, "needs": {}, "port": free_port(following=2)})
        case.write()
        yield case


def state_of(case: Case) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(case.deploy("fleet", "status", "PLAYBOOK", "--json").out)
    return value


@pytest.mark.thorough
@pytest.mark.timeout(300)  # a dozen commands one after the other, beside clients: 100 s under a load of 17
def test_two_serve_as_one_are_changed_one_by_one_and_end(case: Case) -> None:
    port = int(str(case.content["port"]))
    left = case.deploy("fleet", "PLAYBOOK", "--replicas", "2", "--yes", "--json")
    assert left.code == 0, left.out + left.err
    (result,) = [event for event in left.of("result") if "replicas" in event]
    assert (result["ready"], result["urls"]) == (2, [f"http://127.0.0.1:{port}/v1"])
    assert {event.get("instance") for event in left.events} >= {"small-1", "small-2", "small-router"}
    table = case.deploy("fleet", "status", "PLAYBOOK").out
    assert table.splitlines()[0] == "small: healthy, 2 of 2 replicas ready"

    with LoadClients(port, "tiny", streams=2, plain=1, rest=0.2) as clients:
        clients.until(5)
        left = case.deploy("fleet", "restart", "PLAYBOOK", "--set", "context=128", "--json")
        assert left.code == 0, left.out + left.err
        begun = [event["instance"] for event in left.of("step") if event["step"].startswith("launch")]
        assert begun == sorted(begun) == ["small-1", "small-1", "small-2", "small-2"]

        # a change that no replica takes: the first is as it was, the second was never touched
        broken = case.deploy("fleet", "restart", "PLAYBOOK", "--env", "STAND_IN_FAULT=unknown")
        assert broken.code == 7, broken.out + broken.err
        assert "small-1 is back as it was (launch 5, the same as 3)" in " ".join(broken.err.split())
        state = state_of(case)
        assert [(each["launch"], each["context"]) for each in state["replicas"]] == [(5, 128), (2, 128)]
        assert [each["cards"] for each in state["replicas"]] == [[0, 1], [2, 3]]
        assert (state["state"], [each["admitted"] for each in state["replicas"]]) == ("healthy", [True, True])

        too_few = case.deploy("fleet", "restart", "PLAYBOOK", "--min-ready", "2")
        assert "[min_ready, exit 4]" in too_few.err
        clients.until(5)
    assert clients.asked.lost == []
    assert clients.asked.whole > 20

    second = json.loads(case.deploy("status", "PLAYBOOK", "--name", "small-2", "--json").out)
    for member in second["members"]:
        os.kill(member["pid"], signal.SIGKILL)
    repaired = case.deploy("fleet", "PLAYBOOK", "--yes", "--json")
    assert repaired.code == 0, repaired.out + repaired.err
    assert [event["ready"] for event in repaired.of("result") if "replicas" in event] == [2]

    fewer = case.deploy("fleet", "PLAYBOOK", "--replicas", "1", "--yes")
    assert fewer.code == 0, fewer.out + fewer.err
    state = state_of(case)
    assert [each["state"] for each in state["replicas"]] == ["healthy"]
    assert list(state["router"]["workers"]) == [state["replicas"][0]["url"]]
    logs = case.deploy("fleet", "logs", "PLAYBOOK", "-n", "2").out.splitlines()
    assert {line.partition(" |")[0].strip() for line in logs} == {"small-1", "small-router"}

    assert case.deploy("fleet", "stop", "PLAYBOOK").code == 0
    state = state_of(case)
    assert (state["state"], state["router"]["state"]) == ("down", "stopped")
