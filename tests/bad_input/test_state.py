"""What lies in the state folder on the host is not what this program wrote, or others may write there."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.on_host.state.state import machine_id
from tests.bad_input.refused import found_on, refused
from tests.deployments import Case
from tests.odd_files import put

LOOKING = (("status",), ("history",), ("plan",), ("diff",), ("logs",), ("verify",))
NOBODY = 65534


def state_of(case: Case) -> Path:
    case.state.mkdir(parents=True, mode=0o700, exist_ok=True)
    return case.state


@pytest.mark.parametrize("verb", LOOKING, ids=lambda verb: verb[0])
def test_whoever_looks_makes_no_state_folder(whole: Case, verb: tuple[str, ...]) -> None:
    left = whole.deploy(*verb, "PLAYBOOK", "--json")
    assert "Traceback" not in left.err
    assert left.code == (2 if verb == ("logs",) else 0), left.out + left.err
    assert not whole.state.exists()


def record(action: str, *, to: Case) -> None:
    with (to.state / "journal.jsonl").open("a") as journal:
        journal.write(json.dumps({"action": action, "machine": machine_id()}) + "\n")


def open_to_all(case: Case, _: Path) -> str:
    state_of(case).chmod(0o777)
    return f"{case.state} may be written by others (mode 0777)"


def of_another(case: Case, _: Path) -> str:
    os.chown(state_of(case), NOBODY, NOBODY)
    return f"{case.state} belongs to nobody"


def behind_a_link(case: Case, elsewhere: Path) -> str:
    theirs = elsewhere / "theirs"
    (theirs / "launches" / "1").mkdir(parents=True)
    os.chown(theirs, NOBODY, NOBODY)
    state_of(case).rmdir()
    case.state.symlink_to(theirs)
    return f"{theirs} belongs to nobody"


@pytest.mark.parametrize("make", [open_to_all, of_another, behind_a_link])
def test_a_state_folder_that_is_not_ours_alone(
    whole: Case, tmp_path: Path, make: Callable[[Case, Path], str]
) -> None:
    if make is not open_to_all and os.geteuid() != 0:
        pytest.skip("only root can give a folder away")
    said = make(whole, tmp_path)
    try:
        for words in (("PLAYBOOK",), ("status", "PLAYBOOK"), ("stop", "PLAYBOOK"), ("revert", "PLAYBOOK")):
            error = refused(whole, *words, exit_code=4, code="state_folder")
            assert said in error["message"], error
    finally:
        if whole.state.is_symlink():
            whole.state.unlink()
        else:
            whole.state.rmdir()


@pytest.mark.parametrize(
    ("name", "kind"), [("lock", "pipe"), ("work", "folder"), ("journal.jsonl", "dangling")]
)
def test_a_file_of_the_state_that_is_none(whole: Case, name: str, kind: str) -> None:
    path = state_of(whole) / name
    put(path, kind)
    error = refused(whole, "remediate", "PLAYBOOK", exit_code=4, code="state_folder")
    assert str(path) in error["message"] and "move it away" in error["message"]


BROKEN: list[Any] = [
    {"action": "launch", "launch": "x"},
    {"action": "launch"},
    {"action": "patch", "files": 3},
    {"action": "patch", "patch": "fp8-kv-mla", "folder": "/x", "files": [{}], "flags": []},
    {"action": "outcome", "launch": {}, "result": 1},
    {"action": "revert"},
    {"action": "stop", "ended": 1e999},
    {"action": None, "at": ["2026"]},
]


def test_records_that_do_not_say_what_they_must(whole: Case) -> None:
    journal = state_of(whole) / "journal.jsonl"
    at = {"at": "2026-02-20T21:00:00", "machine": machine_id()}
    journal.write_text("".join(json.dumps({**at, **record}) + "\n" for record in BROKEN) + "[3]\nnull\n{")
    before = found_on(whole)
    for words in (
        ("status",),
        ("status", "--json"),
        ("history",),
        ("history", "--json"),
        ("plan",),
        ("diff",),
    ):
        left = whole.deploy(words[0], "PLAYBOOK", *words[1:])
        assert left.code == 0, left.out + left.err
    assert left.out.count("unreadable") == 0
    assert whole.deploy("history", "PLAYBOOK").out.count("unreadable") == len(BROKEN)
    status = json.loads(whole.deploy("status", "PLAYBOOK", "--json").out)
    assert (status["state"], status["attempts"], status["patches"]) == ("never launched", 0, [])
    assert found_on(whole) == before


@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_a_log_that_is_no_file(whole: Case, kind: str) -> None:
    """Reading it would wait for ever, or never come to an end."""
    launch = state_of(whole) / "launches" / "1"
    launch.mkdir(parents=True)
    (launch / "process.json").write_text(json.dumps({**PROCESS, "marker": "m"}))
    put(launch / "vllm.log", kind)
    for words in (("logs", "PLAYBOOK"), ("logs", "PLAYBOOK", "--explain")):
        refused(whole, *words, exit_code=2, code="no_launch")
    (launch / "process.json").unlink()
    record("stop", to=whole)


PROCESS = {"machine": machine_id(), "boot_id": "b", "pid": [1], "start_time": "x", "shm_before": 3}


@pytest.mark.parametrize(
    ("process", "state"),
    [(PROCESS, "never launched"), ({**PROCESS, "marker": "m"}, "dead"), ([], "never launched")],
)
def test_a_launch_whose_files_are_not_what_was_written(whole: Case, process: Any, state: str) -> None:
    launch = state_of(whole) / "launches" / "1"
    launch.mkdir(parents=True)
    (launch / "process.json").write_text(json.dumps(process))
    (launch / "command.json").write_text("[1, 2]")
    os.mkfifo(launch / "exit")
    left = whole.deploy("status", "PLAYBOOK", "--json")
    assert left.code == 0, left.out + left.err
    assert json.loads(left.out)["state"] == state
    assert whole.deploy("plan", "PLAYBOOK", "--json").code == 0
    (launch / "process.json").unlink()
    record("stop", to=whole)
