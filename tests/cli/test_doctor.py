"""`deploy doctor` against a real sshd, and over a file of facts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from orchestrator.cli.main import run
from tests.deployments import Case


def test_a_host_is_examined_and_its_facts_are_saved(case: Case, tmp_path: Path) -> None:
    file = tmp_path / "facts.json"
    answer = case.deploy("doctor", "PLAYBOOK", "--save", str(file))
    assert answer.code == 0, answer.out + answer.err
    first, *lines = answer.out.splitlines()
    assert first.startswith(case.server.alias) and "pass" in first
    shown = " ".join(" ".join(lines).split())
    assert "8 x NVIDIA RTX PRO 6000 Blackwell Server Edition, 95.6 GiB each" in shown
    assert "vllm 0.16.0 in" in shown
    assert file.stat().st_mode & 0o777 == 0o600
    assert json.loads(file.read_text())["version"] == 1


def test_json_holds_checks_and_facts_and_can_be_checked_again(
    case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case.content["engine"] = {"python": "~/nothing/bin/python3"}
    case.write()
    answer = case.deploy("doctor", "PLAYBOOK", "--json")
    assert answer.code == 4
    value = json.loads(answer.out)
    assert (value["host"], value["verdict"]) == (case.server.alias, "fail")
    assert [check["subject"] for check in value["checks"] if check["verdict"] == "fail"] == ["engine"]
    file = tmp_path / "facts.json"
    file.write_text(answer.out)
    assert run(["doctor", "--facts", str(file), "--json"]) == 4
    again = json.loads(capsys.readouterr().out)
    assert again == value


def test_collectives_are_measured_over_a_connection_with_the_plans_variables(case: Case) -> None:
    torch = str(Path(__file__).parents[1] / "on_host" / "collectives" / "stand_in")
    case.content["parallel"] = {"tensor": 2}
    case.content["environment"] = {"PYTHONPATH": torch, "NCCL_PROTO": "LL"}
    case.write()
    answer = case.deploy("doctor", "PLAYBOOK", "--collective", "--json")
    assert answer.code == 0, answer.out + answer.err
    told = json.loads(answer.out)["collective"]
    assert (told["gpus"], told["variables"]["NCCL_PROTO"]) == ([0, 1], "LL")
    assert set(told["runs"]) == {"tuned", "untuned"}
    assert all(run["latency_us"] > 100 and run["bus_gb_per_s"] > 0 for run in told["runs"].values())
    assert "all-reduce over 2 GPUs (bus bandwidth" in answer.err
    assert case.actions() == ["collective"]
    plan = json.loads(case.deploy("plan", "PLAYBOOK", "--json").out)
    assert plan["collective"]["sentence"] == told["sentence"]


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--host", "a", "--facts", "f"],
        ["--host", "a", "--host", "b", "--save", "f"],
        ["--facts", "nowhere"],
        ["--facts", "f", "--collective"],
    ],
)
def test_what_cannot_be_meant_is_refused(words: list[str]) -> None:
    assert run(["doctor", *words]) == 2


def test_a_host_that_is_not_there_takes_no_other(capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["doctor", "--host", "local", "--host", "127.0.0.1:1"])
    shown = capsys.readouterr()
    assert code >= 3
    assert shown.out.startswith("local: ")
    assert "127.0.0.1" in shown.err


def test_a_password_in_a_hosts_name_is_not_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "--host", "me:hush-hush-42@nowhere.invalid"]) in (2, 3)
    shown = capsys.readouterr()
    assert "nowhere.invalid" in shown.err
    assert "hush-hush-42" not in shown.out + shown.err
