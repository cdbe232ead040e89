"""Ending a launch: all of it, nothing else. Engines are stand-ins (stand_in.py)."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.on_host.kinds import launches
from orchestrator.on_host.processes import procs
from orchestrator.on_host.programs import stop
from orchestrator.on_host.refusal import Refusal
from orchestrator.on_host.state import state
from tests.on_host.conftest import Deployments, ready, stand_in
from tests.waiting import eventually

Bystander = Callable[..., "subprocess.Popen[bytes]"]


def lives(pid: int) -> bool:
    one = procs.process(pid)
    return one is not None and one.alive


def test_an_engine_that_ends_its_own_workers(deployments: Deployments, shm: Path) -> None:
    one = deployments.launch(stand_in(workers=2, shm=str(shm)))
    pids = ready(one, 2)
    engine = Path(f"/proc/{pids['server']}/comm").read_text().strip()
    answer = deployments.stop(by_person=True)
    assert answer["launch"] == 1
    assert {gone["pid"]: gone["name"] for gone in answer["ended"]} == {
        one.pid: "sh",
        pids["server"]: engine,
        pids["worker 0"]: "VLLM::Worker_TP",
        pids["worker 1"]: "VLLM::Worker_TP",
    }
    assert answer["killed"] == 0
    assert answer["exit_code"] == 0
    assert sorted(gone["bytes"] for gone in answer["shm_removed"]) == [4096, 4096]
    assert answer["shm_kept"] == []
    assert answer["gpu"] is None
    assert os.listdir(shm) == []
    assert not any(map(lives, pids.values()))
    journal = state.records(deployments.folder())
    assert [record["action"] for record in journal] == ["launch", "stop"]
    assert journal[-1]["by_person"] is True
    assert journal[-1]["shm_removed"] == [gone["name"] for gone in answer["shm_removed"]]


def test_term_ignored(deployments: Deployments) -> None:
    one = deployments.launch(stand_in(workers=1, deaf=True))
    pids = ready(one, 1)
    answer = deployments.stop(grace_seconds=0.2)
    assert answer["killed"] == 2
    assert answer["exit_code"] == 137  # the supervisor was spared until it had written this
    assert not any(map(lives, [one.pid or 0, *pids.values()]))


@pytest.mark.parametrize("apart", [False, True])
def test_workers_orphaned_by_a_killed_server(deployments: Deployments, shm: Path, apart: bool) -> None:
    """Apart, they have neither our session nor our marker nor a parent of ours: an earlier look gives them away."""
    one = deployments.launch(stand_in(workers=2, shm=str(shm), apart=apart))
    pids = ready(one, 2)
    launches.look(one, launches.table())
    os.kill(pids["server"], signal.SIGKILL)
    eventually(lambda: not lives(one.pid or 0))
    assert one.exit_code() == 137
    answer = deployments.stop(grace_seconds=0.2)
    assert [gone["pid"] for gone in answer["ended"]] == sorted([pids["worker 0"], pids["worker 1"]])
    assert answer["killed"] == 2
    assert len(answer["shm_removed"]) == 2
    assert os.listdir(shm) == []


def appending(log: Path, program: str) -> subprocess.Popen[bytes]:
    """Somebody's process of this user whose output goes into a log; it says so there first."""
    with log.open("ab") as file:
        return subprocess.Popen(["/bin/sh", "-c", program], stdout=file, start_new_session=True)


@pytest.mark.parametrize(
    ("program", "writes"),
    [
        ("echo theirs; sleep 1000", True),
        ("echo theirs; sleep 1000 | tee -a {log} >/dev/null", True),
        ("echo theirs; exec 3>>{log} >/dev/null; sleep 1000", True),
        ("echo theirs; exec tail -f {log} >/dev/null", False),
    ],
    ids=["script", "tee", "editor", "tail"],
)
def test_who_has_the_log_open_is_named_and_lives(
    deployments: Deployments, program: str, writes: bool
) -> None:
    one = deployments.launch(stand_in(workers=1))
    ready(one, 1)
    theirs = appending(one.log, program.format(log=one.log))
    try:
        eventually(lambda: "theirs" in one.log.read_text())
        # before it is one, the shell that becomes it could write
        eventually(lambda: writes or procs.command(theirs.pid).startswith("tail "))
        answer = deployments.stop()
        assert len(answer["ended"]) == 3
        assert theirs.poll() is None
        assert bool(answer["left"]) is writes
        assert {gone["pid"] for gone in answer["left"]} <= group(theirs.pid)
    finally:
        os.killpg(theirs.pid, signal.SIGKILL)
        theirs.wait()


def group(session: int) -> set[int]:
    return {pid for pid, process in procs.processes().items() if process.session == session}


def test_orphans_that_nobody_ever_looked_at_are_named(deployments: Deployments) -> None:
    """Their session is their own, their environment gone, their parent dead: an open log alone makes them nobody's."""
    one = deployments.launch(stand_in(workers=1, apart=True))
    pids = ready(one, 1)
    try:
        os.kill(pids["server"], signal.SIGKILL)
        eventually(lambda: not lives(one.pid or 0))
        answer = deployments.stop()
        assert (answer["ended"], answer["left"]) == (
            [],
            [{"pid": pids["worker 0"], "name": "VLLM::Worker_TP"}],
        )
        assert lives(pids["worker 0"])
    finally:
        os.kill(pids["worker 0"], signal.SIGKILL)


def test_a_killed_supervisor(deployments: Deployments) -> None:
    one = deployments.launch(stand_in(workers=1))
    pids = ready(one, 1)
    os.kill(one.pid or 0, signal.SIGKILL)
    eventually(lambda: not lives(one.pid or 0))
    answer = deployments.stop()
    assert sorted(gone["pid"] for gone in answer["ended"]) == sorted(pids.values())
    assert answer["exit_code"] is None
    assert answer["killed"] == 0


def test_everything_killed_leaves_only_files_that_stop_still_removes(
    deployments: Deployments, shm: Path
) -> None:
    one = deployments.launch(stand_in(workers=2, shm=str(shm)))
    ready(one, 2)
    os.killpg(one.pid or 0, signal.SIGKILL)
    eventually(lambda: not launches.members(one, launches.table()))
    answer = deployments.stop()
    assert answer["ended"] == []
    assert len(answer["shm_removed"]) == 2
    again = deployments.stop()
    assert (again["ended"], again["shm_removed"], again["shm_kept"]) == ([], [], [])


"""What some other engine leaves."""


def test_a_launch_of_an_earlier_boot_owns_nothing(deployments: Deployments, shm: Path) -> None:
    one = deployments.launch(stand_in())
    ready(one)
    (shm / "psm_new").touch()
    state.write_json(one.folder / "process.json", {**one.record, "boot_id": "an earlier one"})
    answer = deployments.stop()
    assert (answer["ended"], answer["shm_removed"]) == ([], [])
    assert [kept["reason"] for kept in answer["shm_kept"]] == ["may be older than the launch"]
    state.write_json(one.folder / "process.json", dict(one.record))


def test_gpu_memory_is_waited_for(
    deployments: Deployments, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """`nvidia-smi` is a script here: it lists the engine as long as it lives."""
    program = tmp_path / "bin" / "nvidia-smi"
    program.parent.mkdir()
    log = deployments.folder() / "launches" / "1" / "vllm.log"
    program.write_text(
        f"""#!/bin/sh
pid=$(sed -n 's/^server //p' {log} 2>/dev/null)
[ -n "$pid" ] && [ -e "/proc/$pid" ] || pid=
case $1 in
  --query-gpu=*) echo "GPU-aaaa, ${{pid:+45}}004";;
  *) [ -z "$pid" ] || echo "$pid, GPU-aaaa";;
esac
"""
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    one = deployments.launch(stand_in())
    ready(one)
    assert one.record["gpu_before_mib"] == {"GPU-aaaa": 4}
    gpu = deployments.stop(wait_gpu_seconds=10)["gpu"]
    assert (gpu["returned"], gpu["used_mib"], gpu["held_mib"]) == (True, {"GPU-aaaa": 4}, {})


def test_a_reused_pid_is_never_touched(deployments: Deployments, bystander: Bystander) -> None:
    one = deployments.launch(stand_in(exit=0))
    eventually(lambda: one.exit_code() == 0 and not lives(one.pid or 0))
    stranger = bystander(workers=1)
    start = one.record["start_time"]
    state.write_json(one.folder / "process.json", {**one.record, "pid": stranger.pid, "start_time": start})
    answer = deployments.stop()
    assert answer["ended"] == []
    assert stranger.poll() is None


def test_two_deployments_side_by_side(deployments: Deployments, shm: Path) -> None:
    left = deployments.launch(stand_in(workers=1, shm=str(shm)), playbook="left")
    right = deployments.launch(stand_in(workers=1, shm=str(shm)), playbook="right")
    pids = ready(right, 1)
    ready(left, 1)
    answer = deployments.stop(playbook="left")
    assert len(answer["ended"]) == 3
    assert len(answer["shm_removed"]) == 1
    assert [one.pid for one in launches.members(right, launches.table())] == sorted(
        [right.pid or 0, *pids.values()]
    )
    assert len(os.listdir(shm)) == 1


def test_nothing_was_ever_started(deployments: Deployments) -> None:
    answer = deployments.stop()
    assert answer["launch"] is None
    assert answer["ended"] == []
    assert state.records(deployments.folder()) == []
    with pytest.raises(Refusal) as no:
        deployments.stop(launch=4)
    assert no.value.code == "no_launch"


def test_a_survivor_is_named(deployments: Deployments, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process in the driver's hands (state D) cannot be made here: signals are withheld from it instead."""
    one = deployments.launch(stand_in())
    server = ready(one)["server"]
    monkeypatch.setattr(stop, "RECORDING_SECONDS", 0.05)
    monkeypatch.setattr(procs, "send", lambda *_: False)
    with pytest.raises(Refusal, match=rf"KILL does not end launch 1: pid {one.pid} .* pid {server} ") as no:
        deployments.stop(grace_seconds=0.05, kill_seconds=0.05)
    assert no.value.code == "will_not_die"
    assert str(server) in state.records(deployments.folder())[-1]["survivors"]
    monkeypatch.undo()
    os.kill(server, signal.SIGKILL)
