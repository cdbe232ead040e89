"""A second kind of launch goes through all programs, though none of them knows of it. Engines are stand-ins (stand_in.py)."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from orchestrator.on_host.kinds import launches, registry
from orchestrator.on_host.kinds.kind import Launch
from orchestrator.on_host.processes import procs
from orchestrator.on_host.programs import ended, leftovers, observe, watch
from orchestrator.on_host.refusal import Refusal
from tests.on_host.conftest import Deployments, ready, stand_in, until
from tests.on_host.kinds import runner
from tests.ports import free_port
from tests.waiting import eventually


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.KINDS, runner.KIND.name, runner.KIND)


def started(deployments: Deployments, **options: Any) -> tuple[Launch, dict[str, int]]:
    launch = deployments.launch(stand_in(**options), kind="runner")
    return launch, ready(launch, options.get("workers", 0))


def place(port: int) -> dict[str, Any]:
    return {"instance": "tiny", "host": "127.0.0.1", "port": port, "health_path": "/health", "model": "tiny"}


def living(launch: Launch) -> set[int]:
    return {process.pid for process in launches.members(launch, launches.table())}


def test_it_is_started_and_looked_at(deployments: Deployments, shm: Path) -> None:
    port = free_port()
    launch, pids = started(deployments, workers=2, shm=str(shm), port=port)
    assert launch.record["kind"] == "runner"
    assert launch.log == launch.folder / "out" / "vllm.log"
    assert not (launch.folder / "vllm.log").exists()
    observed = observe.main(place(port))
    process = observed["process"]
    assert (process["alive"], process["pid"], process["exit_code"]) == (True, launch.pid, None)
    assert {member["pid"] for member in process["members"]} == {launch.pid, *pids.values()}
    assert observed["log"]["path"] == str(launch.log)
    assert observed["listener"]["ours"] is True
    assert observed["shm"]["entries"] == 2
    with pytest.raises(Refusal, match="launch 1 of tiny still lives"):
        deployments.launch(stand_in())


@pytest.mark.usefixtures("controller")
def test_it_is_followed_to_its_end(deployments: Deployments) -> None:
    port = free_port()
    launch, pids = started(deployments, port=port)
    events = watch.main({**place(port), "launch": 1, "interval": 0.02})
    assert next(events) == {"process": "running", "launch": 1, "pid": launch.pid}
    assert until(events, "healthy")["ours"] is True
    os.kill(pids["server"], signal.SIGKILL)
    assert until(events, "exited") == {
        "exited": 137,
        "log_bytes": launch.log.stat().st_size,
        "members": [],
    }
    assert ended.main({"instance": "tiny", "launch": 1})["exit_code"] == 137


def test_it_is_asked_to_end_in_its_own_way(deployments: Deployments, shm: Path) -> None:
    launch, pids = started(deployments, workers=1, shm=str(shm))
    answer = deployments.stop()
    assert {process["pid"] for process in answer["ended"]} == {launch.pid, *pids.values()}
    assert (answer["killed"], answer["exit_code"], len(answer["shm_removed"])) == (0, 0, 1)
    assert living(launch) == set()
    assert leftovers.main({"instance": "tiny"}) is None


def test_what_does_not_listen_is_killed(deployments: Deployments) -> None:
    launch, _ = started(deployments, workers=1, deaf=True)
    answer = deployments.stop(grace_seconds=0.2)
    assert (answer["killed"], answer["exit_code"]) == (2, 137)  # the runner had time to write it
    assert living(launch) == set()


def test_what_it_leaves_is_found_and_ended(deployments: Deployments) -> None:
    launch, pids = started(deployments, workers=1)
    whole = leftovers.main({"instance": "tiny"})
    assert whole is not None
    assert (whole["supervised"], {process["pid"] for process in whole["processes"]}) == (
        True,
        set(pids.values()),  # the runner is none
    )
    launches.look(launch, launches.table())
    os.kill(pids["server"], signal.SIGKILL)
    eventually(lambda: launches.supervisor(launch, launches.table()) is None)
    left = leftovers.main({"instance": "tiny"})
    assert left is not None
    assert (left["supervised"], [process["pid"] for process in left["processes"]]) == (
        False,
        [pids["worker 0"]],
    )
    answer = deployments.stop(grace_seconds=0.2)
    assert ([process["pid"] for process in answer["ended"]], answer["killed"]) == ([pids["worker 0"]], 1)


def test_a_killed_runner(deployments: Deployments) -> None:
    launch, pids = started(deployments, workers=1)
    os.kill(launch.pid or 0, signal.SIGKILL)
    eventually(lambda: procs.process(launch.pid or 0) is None)
    assert living(launch) == set(pids.values())
    answer = deployments.stop()
    assert {process["pid"] for process in answer["ended"]} == set(pids.values())
    assert (answer["killed"], answer["exit_code"]) == (0, None)


def test_the_kinds_side_by_side(deployments: Deployments) -> None:
    """Each launch of one deployment is asked in the way in which it was started."""
    first, _ = started(deployments)
    deployments.stop()
    second = deployments.launch(stand_in())
    ready(second)
    assert [launch.kind.name for launch in launches.launches(deployments.folder())] == ["runner", "nohup"]
    assert (first.exit_code(), second.exit_code()) == (0, None)
    assert deployments.stop()["exit_code"] == 0
