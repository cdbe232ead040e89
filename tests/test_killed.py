"""A killed API server, over a real sshd: it is launched again once, nothing of it is left behind in silence."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from orchestrator.on_host.processes import procs
from tests.deployments import Case
from tests.waiting import PATIENCE_SECONDS, eventually, running


def status(case: Case) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(case.deploy("status", "PLAYBOOK", "--json").out)
    return answer


def lives(pid: int) -> bool:
    process = procs.process(pid)
    return process is not None and process.alive


def children(pid: int) -> list[int]:
    return [process.pid for process in procs.processes().values() if process.parent == pid and process.alive]


@pytest.mark.parametrize("verb", ["up", "remediate"])
def test_healed_by(case: Case, verb: str) -> None:
    """What the killed server left is ended, and the engine is launched again."""
    assert case.deploy("PLAYBOOK").code == 0
    before = status(case)
    os.kill(before["listener"]["pid"], signal.SIGKILL)
    eventually(lambda: (case.state / "launches/1/exit").exists())
    orphans = [member["pid"] for member in before["members"] if lives(member["pid"])]
    assert len(orphans) >= 9  # EngineCore and eight ranks
    assert b"Killed" not in (case.state / "launches/1/vllm.log").read_bytes()
    left = case.deploy(verb, "PLAYBOOK", "--json")
    assert left.code == 0, left.out + left.err
    assert not any(map(lives, orphans))
    after = status(case)
    assert (after["state"], after["launch"]) == ("healthy", 2)
    failed = [record for record in case.journal() if record.get("result") == "failed"]
    assert [record["from_outside"] for record in failed] == [True]
    assert "SIGKILL" in str(failed[0]["cause"])


def test_a_server_that_is_killed_again_is_given_up_and_what_lives_is_named(case: Case) -> None:
    case.fault("hang")
    with running(
        case.deploy.argv("PLAYBOOK", "--json"),
        env=case.deploy.whole_environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as run:
        for number in (1, 2):
            os.kill(server_with_workers(case, number), signal.SIGKILL)
        out, err = run.communicate(timeout=PATIENCE_SECONDS)
    assert run.returncode == 7, out + err
    events = [json.loads(line) for line in out.splitlines()]
    first, second = [record["panel"] for record in events if record["event"] == "finding"]
    assert "launched once more" in first["remedy"]
    assert "nobody knows by whom" in first["host"]
    assert "nobody knows by whom" in second["host"] and not second["remedy"]
    (error,) = [record for record in events if record["event"] == "error"]
    named = {process["pid"]: process["name"] for process in error["left"]["processes"]}
    assert error["left"]["launch"] == 2 and not error["left"]["supervised"]
    assert len(named) == 9 and all(map(lives, named))
    assert error["left"]["stop"].startswith("deploy stop ")
    assert {member["pid"] for member in status(case)["members"]} == set(named)


def server_with_workers(case: Case, launch: int) -> int:
    """The API server of that launch, once its engine and all eight ranks are there."""
    record = case.state / "launches" / str(launch) / "process.json"

    def found() -> int | None:
        supervisor = json.loads(record.read_text())["pid"] if record.exists() else None
        servers = children(supervisor) if supervisor else []
        engines = children(servers[0]) if servers else []
        ranks = children(engines[0]) if engines else []
        return servers[0] if len(ranks) == 8 else None

    pid: int = eventually(found)
    return pid


def test_a_person_reads_what_lives_on(case: Case) -> None:
    case.fault("hang")
    assert case.deploy("PLAYBOOK", "--timeout", "1").code == 8
    server_with_workers(case, 1)  # by when all of it is there is the machine's affair
    left = case.deploy("PLAYBOOK", "--timeout", "1")
    assert left.code == 8
    lines = left.err.splitlines()
    alive = next(number for number, line in enumerate(lines) if line.startswith("  alive: "))
    assert lines[alive].startswith("  alive: launch 1 goes on with 10 processes: pid ")
    text = " ".join(" ".join(lines[alive:]).split())
    assert "VLLM::EngineCor" in text and ", and 4 more" in text
    assert any(line.startswith("  end it: deploy stop ") for line in lines)
    assert all(len(line) <= 80 for line in lines if not line.startswith(("  end it:", "  next:")))


def test_nothing_is_named_where_nothing_lives(case: Case, tmp_path: Path) -> None:
    case.content["arguments"] = {"trust-remote-code": True}
    case.write()
    left = case.deploy("PLAYBOOK", "--json")
    assert left.code == 4
    assert "left" not in left.of("error")[0]
