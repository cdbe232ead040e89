"""What the host knows of a launch's end. Engines are stand-ins (stand_in.py)."""

from __future__ import annotations

import signal

import pytest

from orchestrator.on_host.kinds import launches
from orchestrator.on_host.processes import kernel_log, oom
from orchestrator.on_host.programs import ended
from orchestrator.on_host.refusal import Refusal
from tests.on_host.conftest import Deployments, stand_in
from tests.waiting import eventually


def test_a_killed_engine(deployments: Deployments, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [
        "Out of memory: Killed process 1 (x)",
        "x[2]: segfault at 10 ip 7f sp 7f error 4 in libx.so[7f+1]",
    ]
    monkeypatch.setattr(kernel_log, "read", lambda began: lines if began > 0 else None)
    one = deployments.launch(stand_in(signal=int(signal.SIGKILL)))
    eventually(lambda: one.exit_code() is not None)
    told = ended.main({"instance": "tiny", "launch": 1})
    assert (told["exit_code"], told["rebooted"]) == (137, False)
    assert told["kernel"] == [{"pid": 1, "name": "x", "text": lines[0], "group": None}]
    assert told["faults"] == [{"pid": 2, "text": lines[1]}]
    assert told["oom_kills"] == oom.since(oom.counts())


def test_another_boot_tells_nothing_of_it(deployments: Deployments, monkeypatch: pytest.MonkeyPatch) -> None:
    deployments.launch(stand_in(exit=3))
    monkeypatch.setattr(ended, "boot_id", lambda: "another")
    told = ended.main({"instance": "tiny", "launch": 1})
    assert told["rebooted"]
    assert (told["oom_kills"], told["kernel"]) == ({"group": None, "machine": None, "limit": None}, None)
    assert told["faults"] == []


def test_a_launch_that_never_was(deployments: Deployments) -> None:
    with pytest.raises(Refusal):
        ended.main({"instance": "tiny", "launch": 7})
    assert launches.numbers(deployments.folder()) == []
