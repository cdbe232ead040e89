"""Which shared memory goes with a launch that is ended, and which stays. Engines are stand-ins (stand_in.py)."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

import pytest

from orchestrator.on_host.footprint import Footprint, SharedNames
from orchestrator.on_host.kinds import launches
from orchestrator.on_host.state import state
from tests.on_host.conftest import Deployments, ready, stand_in
from tests.waiting import eventually

Bystander = Callable[..., "subprocess.Popen[bytes]"]
SHARED = """
import sys
from multiprocessing import resource_tracker, shared_memory
resource_tracker.register = lambda *_: None
shared_memory.SharedMemory(sys.argv[1], create=True, size=4096).close()
print(flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def sharing(shm: Path, name: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process of this user that made shared memory, closed it, and lives; the file is moved to where the test has its own."""
    made = f"psm_{os.getpid()}"
    with subprocess.Popen(
        [sys.executable, "-c", SHARED, made], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as one:
        assert one.stdout is not None
        one.stdout.readline()
        Path("/dev/shm", made).rename(shm / name)
        yield one
        one.communicate()


def test_a_file_that_somebody_may_attach_to_again_stays(deployments: Deployments, shm: Path) -> None:
    """Made during our launch by a living process of the same user that neither maps it nor has it open."""
    ready(deployments.launch(stand_in(workers=1, shm=str(shm))), 1)
    with sharing(shm, "psm_theirs") as theirs:
        answer = deployments.stop()
        assert len(answer["shm_removed"]) == 1
        (kept,) = answer["shm_kept"]
        assert (kept["name"], kept["doubtful"]) == ("psm_theirs", True)
        assert kept["reason"].startswith(f"may be of pid {theirs.pid} (")
    assert [gone["name"] for gone in deployments.stop()["shm_removed"]] == ["psm_theirs"]


def test_what_a_look_saw_held_goes_whoever_else_lives(deployments: Deployments, shm: Path) -> None:
    one = deployments.launch(stand_in(workers=1, shm=str(shm)))
    pids = ready(one, 1)
    launches.look(one, launches.table())
    with sharing(shm, "psm_theirs"):
        os.killpg(one.pid or 0, signal.SIGKILL)
        eventually(lambda: not launches.members(one, launches.table()))
        answer = deployments.stop()
    assert [gone["name"] for gone in answer["shm_removed"]] == [f"psm_{pids['worker 0']:08x}"]
    assert os.listdir(shm) == ["psm_theirs"]


def test_foreign_and_older_files_stay(deployments: Deployments, shm: Path, bystander: Bystander) -> None:
    (shm / "psm_older").touch()
    (shm / "sem.mp-older").touch()
    one = deployments.launch(stand_in(workers=1, shm=str(shm)))
    pids = ready(one, 1)
    stranger = bystander(workers=1, shm=str(shm))  # its file is younger than our launch
    (shm / "psm_forgotten").touch()
    answer = deployments.stop()
    removed = {gone["name"] for gone in answer["shm_removed"]}
    assert removed == {f"psm_{pids['worker 0']:08x}", "psm_forgotten"}
    reasons = {kept["name"]: kept["reason"] for kept in answer["shm_kept"]}
    assert reasons.pop("psm_older") == "older than the launch"
    assert reasons.pop("sem.mp-older") == "older than the launch"
    (theirs,) = reasons
    assert reasons[theirs].startswith("mapped or open by pid ")
    assert stranger.poll() is None
    assert sorted(os.listdir(shm)) == sorted(["psm_older", "sem.mp-older", theirs])
    with_consent = deployments.stop(consented_shm=["psm_older", theirs])
    assert [gone["name"] for gone in with_consent["shm_removed"]] == ["psm_older"]


def test_shared_memory_is_left_when_that_was_asked(deployments: Deployments, shm: Path) -> None:
    one = deployments.launch(stand_in(workers=1, shm=str(shm)))
    ready(one, 1)
    answer = deployments.stop(remove_shm=False)
    assert len(answer["ended"]) == 3
    assert answer["shm_removed"] == []
    assert len(os.listdir(shm)) == 1


TEXTS = Footprint("tgi", "/tgi/", (SharedNames("tgi-", ("/_posixshmem.",)),), ())


def test_an_engine_tells_by_which_names_its_files_are_known(deployments: Deployments, shm: Path) -> None:
    """As it told when it was launched, whatever the request says by now."""
    ready(deployments.launch(stand_in(), footprint=asdict(TEXTS)))
    for name in ("tgi-1", "vllm_1", "psm_1"):
        (shm / name).touch()
    answer = deployments.stop()
    assert [gone["name"] for gone in answer["shm_removed"]] == ["tgi-1"]
    assert {kept["name"]: kept["reason"] for kept in answer["shm_kept"]} == {
        "vllm_1": "unknown name",
        "psm_1": "unknown name",
    }


@pytest.mark.parametrize("recorded", [None, {}, {"called": "("}, "vllm"])
def test_the_request_tells_it_of_a_launch_whose_record_does_not(
    deployments: Deployments, shm: Path, recorded: object
) -> None:
    one = deployments.launch(stand_in(workers=1, shm=str(shm)))
    ready(one, 1)
    record = {name: value for name, value in one.record.items() if name != "footprint"}
    more = {} if recorded is None else {"footprint": recorded}
    state.write_json(one.folder / "process.json", {**record, **more})
    (shm / "tgi-1").touch()
    assert len(deployments.stop()["shm_removed"]) == 1
    assert os.listdir(shm) == ["tgi-1"]
    later = deployments.stop(footprint=asdict(TEXTS))
    assert [gone["name"] for gone in later["shm_removed"]] == ["tgi-1"]


def test_what_appears_after_the_end_is_not_ours(deployments: Deployments, shm: Path) -> None:
    program = f"import pathlib; pathlib.Path({str(shm)!r}, 'psm_left').touch()"
    one = deployments.launch([sys.executable, "-c", program])
    eventually(lambda: one.exit_code() is not None and not launches.members(one, launches.table()))
    os.utime(one.folder / "exit", (time.time() - 60, time.time() - 60))
    early = deployments.stop()
    assert [(kept["name"], kept["reason"]) for kept in early["shm_kept"]] == [
        ("psm_left", "younger than the launch's end")
    ]
    os.utime(one.folder / "exit")
    assert [gone["name"] for gone in deployments.stop()["shm_removed"]] == ["psm_left"]
