"""One look at a deployment. Engines are stand-ins (stand_in.py)."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from orchestrator.on_host.kinds import launches
from orchestrator.on_host.kinds.kind import Launch
from orchestrator.on_host.processes import procs
from orchestrator.on_host.programs import observe
from orchestrator.on_host.state.state import boot_id, machine_id
from tests.on_host.conftest import Deployments, ready, stand_in
from tests.ports import free_port
from tests.waiting import eventually, takes_less_than


def look(port: int, **more: Any) -> dict[str, Any]:
    return observe.main(
        {
            "instance": "tiny",
            "port": port,
            "host": "0.0.0.0",
            "health_path": "/health",
            "model": "tiny",
            **more,
        }
    )


def over(one: Launch) -> None:
    eventually(lambda: one.exit_code() is not None and not launches.members(one, launches.table()))


def test_nothing_was_ever_started(deployments: Deployments) -> None:
    port = free_port()
    assert look(port) == {
        "endpoint": {"host": "0.0.0.0", "port": port, "model": "tiny"},
        "launch": None,
        "process": None,
        "command": None,
        "log": None,
        "health": None,
        "models": [],
        "context": None,
        "listener": None,
        "shm": {"entries": 0, "bytes": 0},
        "journal": [],
        "machine": machine_id(),
        "boot_id": boot_id(),
        "state": str(deployments.folder()),
        "turn": "",
    }
    assert not deployments.folder().parent.exists()


def test_a_serving_launch(deployments: Deployments, shm: Path) -> None:
    port = free_port()
    argv = stand_in(workers=2, shm=str(shm), port=port)
    one = deployments.launch(argv)
    pids = ready(one, 2)
    seen = look(port)
    assert seen["launch"] == 1
    process = seen["process"]
    assert (process["alive"], process["pid"], process["exit_code"]) == (True, one.pid, None)
    assert process["started_at"] == one.record["started_at"]
    assert [member["pid"] for member in process["members"]] == sorted([one.pid or 0, *pids.values()])
    assert all(member["rss_bytes"] > 100_000 for member in process["members"])
    assert seen["command"]["argv"] == argv
    assert seen["log"]["path"] == str(one.log)
    assert seen["log"]["bytes"] == one.log.stat().st_size > 0
    assert 0 <= seen["log"]["silent_seconds"] < 60
    assert (seen["health"], seen["models"], seen["context"]) == (200, ["tiny"], 4096)
    assert (seen["listener"]["ours"], seen["listener"]["pid"]) == (True, pids["server"])
    assert seen["shm"] == {"entries": 2, "bytes": 8192}
    assert [record["action"] for record in seen["journal"]] == ["launch"]


def test_a_stopped_launch_and_a_stranger_on_its_port(deployments: Deployments, bystander: Any) -> None:
    one = deployments.launch(stand_in(exit=3))
    over(one)
    port = free_port()
    stranger = bystander(port=port)
    seen = look(port)
    assert seen["process"]["alive"] is False
    assert seen["process"]["exit_code"] == 3
    assert seen["process"]["members"] == []
    listener = seen["listener"]
    assert (listener["ours"], listener["pid"], listener["user"]) == (
        False,
        stranger.pid,
        procs.user(os.getuid()),
    )
    assert listener["command"].endswith("}")
    assert listener["since"] is not None


def test_an_earlier_launch_can_be_asked_for(deployments: Deployments) -> None:
    for code in (3, 4):
        one = deployments.launch(stand_in(exit=code))
        over(one)
    assert look(free_port())["process"]["exit_code"] == 4
    assert look(free_port(), launch=1)["process"]["exit_code"] == 3


def test_it_is_quick_when_nobody_listens(deployments: Deployments) -> None:
    ready(deployments.launch(stand_in(workers=2)), 2)
    port = free_port()

    def seconds() -> float:
        began = time.monotonic()
        look(port)
        return time.monotonic() - began

    takes_less_than(0.5, seconds)
