"""What of a launch lives on. Engines are stand-ins (stand_in.py)."""

from __future__ import annotations

import os
import signal

import pytest

from orchestrator.on_host.kinds import launches
from orchestrator.on_host.processes import gpu_memory
from orchestrator.on_host.programs import leftovers
from tests.on_host.conftest import Deployments, ready, stand_in
from tests.waiting import eventually

LOOK = {"instance": "tiny"}


def test_a_launch_that_goes_on_and_what_a_killed_server_leaves(
    deployments: Deployments, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = deployments.launch(stand_in(workers=2))
    pids = ready(one, 2)
    monkeypatch.setattr(gpu_memory, "used", lambda: {"GPU-a": 45000})
    computing = [gpu_memory.App(pids["worker 1"], "GPU-a", 43210, "VLLM::Worker_TP1")]
    monkeypatch.setattr(gpu_memory, "apps", lambda: computing)
    whole = leftovers.main(LOOK)
    assert whole is not None
    assert (whole["launch"], whole["supervised"]) == (1, True)
    assert {each["pid"] for each in whole["processes"]} == set(pids.values())  # the supervisor is no leftover
    os.kill(pids["server"], signal.SIGKILL)
    # the supervisor records the exit before it goes
    eventually(lambda: launches.supervisor(one, launches.table()) is None)
    left = leftovers.main(LOOK)
    assert left == {
        "launch": 1,
        "supervised": False,
        "processes": [
            {"pid": pids["worker 0"], "name": "VLLM::Worker_TP", "gpu_mib": None},
            {"pid": pids["worker 1"], "name": "VLLM::Worker_TP", "gpu_mib": 43210},
        ],
        "cards": {"GPU-a": 43210},
    }


def test_memory_that_nobody_who_can_be_seen_holds(
    deployments: Deployments, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu_memory, "used", lambda: {"GPU-a": 4})
    monkeypatch.setattr(gpu_memory, "apps", list)
    one = deployments.launch(stand_in(exit=1))
    eventually(lambda: one.exit_code() is not None)
    eventually(lambda: leftovers.main(LOOK) is None)
    monkeypatch.setattr(gpu_memory, "used", lambda: {"GPU-a": 43214})
    left = leftovers.main(LOOK)
    assert left is not None
    assert (left["processes"], left["cards"]) == ([], {"GPU-a": 43210})


def test_nothing_was_ever_launched(deployments: Deployments) -> None:
    assert leftovers.main(LOOK) is None
    assert not deployments.folder().exists()  # whoever only looks makes nothing
