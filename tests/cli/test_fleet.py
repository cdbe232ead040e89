"""What is told of a fleet before it is there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from orchestrator.cli.main import run
from orchestrator.on_host.state.state import append, boot_id, machine_id, state_folder


@pytest.fixture
def playbook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A playbook for this machine's CPUs."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    path = tmp_path / "tiny.yaml"
    path.write_text(
        json.dumps(
            {
                "model": {"repository": "deploy-tests/nothing", "served_name": "tiny"},
                "checkpoint": {"folder": str(tmp_path / "checkpoint")},
                "context": 256,
                "port": 8800,
                "needs": {"gpus": 0},
            }
        )
    )
    return str(path)


def test_the_places_are_a_table_and_an_object(playbook: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fleet", "plan", playbook, "--host", "local", "--replicas", "2"]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert rows[0] == "tiny: 2 replicas on 1 host"
    assert rows[2].split() == ["tiny-1", "local", "8801", "no", "GPU"]
    assert run(["fleet", "plan", playbook, "--host", "local", "--name", "mine", "--json"]) == 0
    (replica,) = json.loads(capsys.readouterr().out)["replicas"]
    assert (replica["name"], replica["url"]) == ("mine-1", "http://127.0.0.1:8801")


def test_a_place_has_all_that_leads_to_it_but_secrets(
    playbook: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--gpus", "2", "--set", "context=128", "--env", "VLLM_API_KEY=a-secret-that-is-long"]
    assert run(["fleet", "plan", playbook, "--host", "local", *given, "--json"]) == 0
    out = capsys.readouterr().out
    (replica,) = json.loads(out)["replicas"]
    assert replica["settings"] == ["parallel.tensor=2", "context=128", "port=8801", "listen=127.0.0.1"]
    assert replica["environment"] == ["VLLM_API_KEY"]
    assert "a-secret-that-is-long" not in out


def test_where_there_is_no_fleet_its_verbs_say_so(playbook: str, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["status"], ["config", "--router", "nginx"]):
        assert run(["fleet", words[0], playbook, "--host", "local", *words[1:], "--json"]) == 2
        seen = json.loads(capsys.readouterr().out)  # one object: no configuration is made up
        error = seen["error"]
        assert (error["code"], error["message"]) == ("no_fleet", "there is no replica of tiny on local")
        assert error["next"] == f"deploy fleet {playbook} --host local --replicas 2"
    one = ["fleet", "config", playbook, "--host", "local", "--router", "nginx", "--replicas", "1"]
    assert run(one) == 0
    assert capsys.readouterr().out.startswith("# tiny: 1 replica on 1 host,")


def test_a_configuration_is_all_that_is_printed(playbook: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["fleet", "config", playbook, "--host", "local", "--replicas", "2", "--router", "haproxy"]
    assert run(words) == 0
    out = capsys.readouterr().out
    assert out.startswith("# tiny: 2 replicas on 1 host")
    assert out.endswith("    server tiny-1 127.0.0.1:8801\n    server tiny-2 127.0.0.1:8802\n")


def test_a_host_that_is_away_hides_no_other(playbook: str, capsys: pytest.CaptureFixture[str]) -> None:
    append(state_folder("tiny-1"), {"action": "launch", "launch": 1})
    launch = state_folder("tiny-1") / "launches" / "1"
    launch.mkdir(parents=True)
    place = {"host": "127.0.0.1", "port": 8801, "model": "tiny"}
    (launch / "command.json").write_text(json.dumps({"argv": ["engine"], "note": {"endpoint": place}}))
    process = {"machine": machine_id(), "marker": "m", "boot_id": boot_id()}
    (launch / "process.json").write_text(json.dumps(process))
    away = ["--host", "local", "--host", "127.0.0.1:9"]
    assert run(["fleet", "status", playbook, *away]) == 3
    seen = capsys.readouterr()
    assert "127.0.0.1:9  cannot be asked:" in seen.out
    row, repair = seen.out.splitlines()[-2:]
    assert row.split()[:2] == ["tiny-1", "local"]
    assert "deploy fleet remediate " in repair
    assert run(["fleet", "logs", playbook, *away]) == 3
    assert "[host_unreachable, exit 3]" in capsys.readouterr().err
    assert run(["fleet", "plan", playbook, *away]) == 3  # it would be given the place of one that is not seen
    assert capsys.readouterr().out == ""


def test_a_verb_that_there_is_not_leads_to_those_that_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fleet", "scale", "kimi-k2.5", "--host", "local"]) == 2
    assert "'scale' is no verb of a fleet (up, plan, " in " ".join(capsys.readouterr().err.split())


def test_what_keeps_several_hosts_from_being_asked_is_told_once(
    playbook: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["fleet", "status", playbook, "--hosts", "local,127.0.0.1:9,127.0.0.2:9,127.0.0.3:9"]) == 2
    err = capsys.readouterr().err
    assert err.count("host_unreachable") == 1
    assert "the same of 127.0.0.2:9, 127.0.0.3:9" in err
    assert "127.0.0.1:9, 127.0.0.2:9, 127.0.0.3:9 could not be asked" in " ".join(err.split())


@pytest.mark.parametrize(
    ("words", "code", "next_command"),
    [
        (["--as-one"], "fleet_as_one", "deploy fleet --help"),
        (["--set", "port=65535"], "fleet_port", "--set port=8000"),
        (["--set", "needs.gpus=2", "--gpus", "2"], "fleet_room", "deploy doctor"),
    ],
)
def test_what_cannot_be_placed_is_refused(
    playbook: str, words: list[str], code: str, next_command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    left = run(["fleet", "plan", playbook, "--host", "local", "--replicas", "2", *words])
    err = " ".join(capsys.readouterr().err.split())
    assert f"[{code}, exit {left}]" in err
    assert next_command in err
