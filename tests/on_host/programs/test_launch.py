"""Starting an engine: its record, its environment, its exit code. Engines are stand-ins (stand_in.py)."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from orchestrator.engines.vllm.footprint import FOOTPRINT
from orchestrator.on_host.processes import oom, procs
from orchestrator.on_host.programs import launch
from orchestrator.on_host.refusal import Refusal
from orchestrator.on_host.removing import caches
from orchestrator.on_host.state import launches
from orchestrator.on_host.state.state import boot_id, machine_id, read_json, records
from tests.on_host.conftest import OF_VLLM, Deployments, ready, stand_in
from tests.waiting import eventually


def test_what_is_recorded(deployments: Deployments, shm: Path) -> None:
    (shm / "psm_older").touch()
    argv = stand_in(workers=1)
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


def test_its_own_session_without_terminal_or_foreign_descriptors(deployments: Deployments) -> None:
    leak, other = os.pipe()
    os.set_inheritable(leak, True)
    try:
        one = deployments.launch(stand_in())
        server = ready(one)["server"]
    finally:
        os.close(leak)
        os.close(other)
    found = procs.process(server)
    assert found is not None
    assert found.session == one.pid != os.getsid(0)
    files = {name: os.readlink(f"/proc/{server}/fd/{name}") for name in os.listdir(f"/proc/{server}/fd")}
    assert files == {"0": "/dev/null", "1": str(one.log), "2": str(one.log)}
    ignored = next(
        int(line.split()[1], 16)
        for line in Path(f"/proc/{server}/status").read_text().splitlines()
        if line.startswith("SigIgn")
    )
    assert ignored & 1 << (signal.SIGHUP - 1)


def test_members_are_found_though_workers_wipe_their_environment(deployments: Deployments) -> None:
    one = deployments.launch(stand_in(workers=2, apart=True))
    pids = ready(one, 2)
    at = launches.table()
    assert pids["server"] in at.markers
    assert pids["worker 0"] not in at.markers
    found = launches.members(one, at)
    assert [member.pid for member in found] == sorted([one.pid or 0, *pids.values()])
    assert [procs.name(member) for member in found][2:] == ["VLLM::Worker_TP", "VLLM::Worker_TP"]


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        (stand_in(exit=0), 0),
        (stand_in(exit=3), 3),
        (stand_in(signal=int(signal.SIGKILL)), 137),
        (stand_in(signal=int(signal.SIGTERM)), 143),
        (["/no/such/python", "-m", "vllm"], 127),
        (["/etc/passwd"], 126),
    ],
)
def test_exit_codes(deployments: Deployments, argv: list[str], code: int) -> None:
    one = deployments.launch(argv)
    eventually(lambda: one.exit_code() is not None)
    assert one.exit_code() == code
    if code in (126, 127):
        assert argv[0] in one.log.read_text()


@pytest.mark.parametrize(
    ("recorded", "code"), [("265", 137), ("393", 137), ("137", 137), ("3", 3), ("", None)]
)
def test_how_ksh_and_yash_count_a_signal(deployments: Deployments, recorded: str, code: int | None) -> None:
    one = deployments.launch(stand_in(exit=0))
    eventually(lambda: one.exit_code() == 0)
    (one.folder / "exit").write_text(recorded)
    assert one.exit_code() == code


def test_term_to_the_whole_session_still_leaves_a_record(deployments: Deployments) -> None:
    one = deployments.launch(stand_in())
    ready(one)
    os.killpg(one.pid or 0, signal.SIGTERM)
    assert eventually(lambda: one.exit_code() is not None)
    assert one.exit_code() == 0


SHELLS = ("dash", "bash", "busybox")


def supervised(shell: str, record: Path, *engine: str) -> list[str]:
    """The supervisor in this shell: /bin/sh differs from host to host."""
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"no {shell} here")
    program = [found, "sh"] if shell == "busybox" else [found]
    return [*program, "-c", launch.SUPERVISOR, "deploy-launch", str(record), *engine]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT])
@pytest.mark.parametrize("shell", SHELLS)
def test_the_log_of_a_killed_engine_holds_no_word_of_the_shell(
    shell: str, number: signal.Signals, tmp_path: Path
) -> None:
    """dash and busybox wrote "Killed" into it, which reads as if memory had run out."""
    engine = ["/bin/sh", "-c", f"ulimit -c 0; echo up; kill -{int(number)} $$"]
    argv = supervised(shell, tmp_path / "exit", *engine)
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    assert done.stdout == b"up\n"
    assert (tmp_path / "exit").read_text() == f"{128 + number}\n"


@pytest.mark.parametrize("shell", SHELLS)
def test_what_the_shell_says_of_a_program_that_is_not_there_is_in_the_log(shell: str, tmp_path: Path) -> None:
    argv = supervised(shell, tmp_path / "exit", "/no/such/python", "-m", "vllm")
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    assert b"/no/such/python" in done.stdout
    assert (tmp_path / "exit").read_text() == "127\n"


@pytest.mark.parametrize("shell", SHELLS)
def test_the_supervisor_in_each_shell(shell: str, tmp_path: Path) -> None:
    """TERM comes while it waits for the engine."""
    engine = ["/bin/sh", "-c", "echo up; kill -STOP $$; exit 5"]
    argv = supervised(shell, tmp_path / "exit", *engine)
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as supervisor:
        assert supervisor.stdout is not None
        supervisor.stdout.readline()
        supervisor.terminate()
        (child,) = [one.pid for one in procs.processes().values() if one.parent == supervisor.pid]
        # its line comes before it stops: a CONT in between would be lost, and it would stand for good
        eventually(lambda: (one := procs.process(child)) is not None and one.state == "T")
        os.kill(child, signal.SIGCONT)
        assert supervisor.wait(timeout=10) == 5
    assert (tmp_path / "exit").read_text() == "5\n"
    assert os.listdir(tmp_path) == ["exit"]


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
    ],
)
def test_refusals_leave_no_launch(deployments: Deployments, more: dict[str, Any], code: str) -> None:
    with pytest.raises(Refusal) as no:
        launch.main({"instance": "tiny", "launch_id": "x", "argv": ["true"], **OF_VLLM, **more})
    assert no.value.code == code
    assert launches.numbers(deployments.folder()) == []


def test_it_returns_while_the_engine_lives(deployments: Deployments) -> None:
    one = deployments.launch(["sleep", "60"])
    assert launches.supervisor(one, launches.table()) is not None
