"""Starting an engine: its record, its environment, its exit code. Engines are stand-ins (stand_in.py)."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from orchestrator.engines.vllm.footprint import FOOTPRINT
from orchestrator.on_host.kinds import launches
from orchestrator.on_host.kinds.kind import HERE
from orchestrator.on_host.processes import gpu_memory, oom, procs
from orchestrator.on_host.refusal import Refusal
from orchestrator.on_host.removing import caches
from orchestrator.on_host.state.state import boot_id, machine_id, read_json, records
from tests.on_host.conftest import OF_VLLM, Deployments, ready, stand_in
from tests.waiting import eventually


def test_what_is_recorded(deployments: Deployments, shm: Path) -> None:
    (shm / "psm_older").touch()
    argv = [*stand_in(workers=1), HERE]
    one = deployments.launch(argv, environment={"A": 1}, note={"attempt": 2})
    command = read_json(one.folder / "command.json")
    assert one.marker.startswith("tiny-")
    assert command == {
        "launch_id": one.marker,
        "argv": argv,
        "environment": {"A": "1"},
        "secrets": [],
        "unset": [],
        "folder": str(Path.home()),
        "note": {"attempt": 2},
    }
    process = procs.process(one.pid or 0)
    assert process is not None
    assert read_json(one.folder / "process.json") == {
        "kind": "nohup",
        "machine": machine_id(),
        "boot_id": boot_id(),
        "pid": process.pid,
        "start_time": process.start_time,
        "session": process.pid,
        "marker": one.marker,
        "started_at": one.record["started_at"],
        "log": str(one.log),
        "shm_before": ["psm_older"],
        "gpu_before_mib": None,
        "footprint": json.loads(json.dumps(OF_VLLM["footprint"])),
        "caches_by": {
            name: os.environ[name] for name in (*caches.VARIABLES, *FOOTPRINT.variables) if name in os.environ
        },
        "oom_kills_before": oom.counts(),
        "adopters": one.record["adopters"],
    }
    above = procs.lineage(os.getpid(), procs.processes()) - {os.getpid()}
    assert {pid for pid, _ in one.record["adopters"]} == {pid for pid in above if not procs.has_terminal(pid)}
    (journal,) = records(deployments.folder())
    assert {key: journal[key] for key in ("action", "launch", "argv")} == {
        "action": "launch",
        "launch": 1,
        "argv": argv,
    }


def test_a_file_of_the_launch_lies_in_its_folder(deployments: Deployments) -> None:
    text = "import sys\nprint(sys.argv[1:])\n"
    argv = [sys.executable, f"{HERE}/own.py", f"{HERE}x", f"x/{HERE}"]
    one = deployments.launch(argv, files={"own.py": text})
    assert (one.folder / "own.py").read_text() == text
    assert read_json(one.folder / "command.json")["argv"] == argv
    eventually(lambda: one.exit_code() == 0)
    assert Path(one.log).read_text() == f"{argv[2:]}\n"


def test_members_are_found_though_workers_wipe_their_environment(deployments: Deployments) -> None:
    one = deployments.launch(stand_in(workers=2, apart=True))
    pids = ready(one, 2)
    at = launches.table()
    assert pids["server"] in at.markers
    assert pids["worker 0"] not in at.markers
    found = launches.members(one, at)
    assert [member.pid for member in found] == sorted([one.pid or 0, *pids.values()])
    assert [procs.name(member) for member in found][2:] == ["VLLM::Worker_TP", "VLLM::Worker_TP"]


def test_a_second_launch_waits_for_the_first_to_end(deployments: Deployments) -> None:
    first = deployments.launch(stand_in(workers=1))
    pids = ready(first, 1)
    with pytest.raises(
        Refusal, match=rf"launch 1 of tiny still lives: pid {first.pid} \(sh\) and 2 more"
    ) as no:
        deployments.launch(stand_in())
    assert no.value.code == "already_running"
    os.kill(first.pid or 0, signal.SIGKILL)
    os.kill(pids["server"], signal.SIGKILL)
    eventually(lambda: len(launches.members(first, launches.table())) == 1)
    with pytest.raises(Refusal, match=rf"pid {pids['worker 0']} \(VLLM::Worker_TP\)$"):
        deployments.launch(stand_in())
    os.kill(pids["worker 0"], signal.SIGKILL)
    eventually(lambda: not launches.members(first, launches.table()))
    assert deployments.launch(stand_in()).number == 2


def test_a_secret_reaches_the_engine_and_no_file_or_command_line(deployments: Deployments) -> None:
    secret = "hf_" + os.urandom(8).hex()
    program = "import hashlib, os, time; print(hashlib.sha256(os.environ['HF_TOKEN'].encode()).hexdigest(), flush=True); time.sleep(60)"
    one = deployments.launch([sys.executable, "-c", program], secrets={"HF_TOKEN": secret})
    digest = hashlib.sha256(secret.encode()).hexdigest()
    eventually(lambda: digest in one.log.read_text())
    files = [path for path in deployments.state.rglob("*") if path.is_file()]
    assert len(files) >= 4
    assert not [path for path in files if secret in path.read_text()]
    assert not [pid for pid in procs.processes() if secret in procs.command(pid)]
    assert read_json(one.folder / "command.json")["secrets"] == ["HF_TOKEN"]


def test_the_environment_and_the_folder(
    deployments: Deployments, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NCCL_DEBUG", "INFO")
    monkeypatch.setenv("NCCL_ALGO", "Tree")
    names = "'NCCL_PROTO', 'NCCL_DEBUG', 'NCCL_ALGO'"
    program = f"import json, os; print(json.dumps([os.getcwd(), *map(os.environ.get, [{names}])]))"
    argv = [sys.executable, "-c", program]
    one = deployments.launch(
        argv, environment={"NCCL_PROTO": "LL 128"}, unset=["NCCL_DEBUG"], folder=str(tmp_path)
    )
    eventually(lambda: one.exit_code() == 0)
    assert json.loads(one.log.read_text()) == [str(tmp_path), "LL 128", None, "Tree"]


@pytest.mark.parametrize("consent", [False, True])
def test_the_hosts_own_token_goes_to_no_other_hub(
    deployments: Deployments, monkeypatch: pytest.MonkeyPatch, consent: bool
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://mirror:8080")
    monkeypatch.setenv("HUGGING_FACE_HUB_TOKEN", "of the login")
    names = "'HF_TOKEN', 'HUGGING_FACE_HUB_TOKEN', 'HF_TOKEN_PATH', 'HF_HUB_DISABLE_IMPLICIT_TOKEN'"
    argv = [sys.executable, "-c", f"import json, os; print(json.dumps([*map(os.environ.get, [{names}])]))"]
    one = deployments.launch(argv, secrets={"HF_TOKEN": "given"}, token_consent=consent)
    eventually(lambda: one.exit_code() == 0)
    there = ["given", "of the login", None, None] if consent else [None, None, "/dev/null", "1"]
    assert json.loads(one.log.read_text()) == there
    command = read_json(one.folder / "command.json")
    assert command["secrets"] == (["HF_TOKEN"] if consent else [])
    assert command["unset"] == ([] if consent else ["HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"])


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"folder": "/no/such/folder"}, "no_folder"),
        ({"environment": {"A=B": "1"}}, "bad_request"),
        ({"secrets": {"A": "x\0y"}}, "bad_request"),
        ({"launch_id": "two words"}, "bad_request"),
        ({"argv": []}, "bad_request"),
        ({"kind": "docker"}, "bad_request"),
    ],
)
def test_refusals_leave_no_launch(deployments: Deployments, more: dict[str, Any], code: str) -> None:
    with pytest.raises(Refusal) as no:
        deployments.launch(**{"argv": ["true"], **more})
    assert no.value.code == code
    assert launches.numbers(deployments.folder()) == []


@pytest.mark.parametrize(
    ("used", "at_most", "refused"),
    [
        ({"GPU-a": 20002, "GPU-b": 2}, {"GPU-a": 16000, "GPU-b": 16000}, True),
        ({"GPU-a": 16000}, {"GPU-a": 16000}, False),
        ({"GPU-a": 90000}, {"GPU-b": 16000}, False),  # not one of the launch's cards
        ({}, {"GPU-a": 16000}, False),  # a card that does not tell
        (None, {"GPU-a": 16000}, False),
    ],
)
def test_nothing_is_started_where_others_hold_too_much_of_a_card(
    deployments: Deployments,
    monkeypatch: pytest.MonkeyPatch,
    used: dict[str, int] | None,
    at_most: dict[str, int],
    refused: bool,
) -> None:
    monkeypatch.setattr(gpu_memory, "used", lambda: used)
    if not refused:
        assert deployments.launch(["true"], gpu_at_most_mib=at_most).number == 1
        return
    with pytest.raises(Refusal, match=r"GPU-a 20002 MiB \(16000 at most\)$") as no:
        deployments.launch(["true"], gpu_at_most_mib=at_most)
    assert no.value.code == "no_room"
    assert launches.numbers(deployments.folder()) == []


def test_it_returns_while_the_engine_lives(deployments: Deployments) -> None:
    one = deployments.launch(["sleep", "60"])
    assert launches.supervisor(one, launches.table()) is not None
