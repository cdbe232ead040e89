"""Nothing is started without the consents that it needs, whoever put a value into the command or the environment."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.bad_input.refused import ONE_CARD, engine_that_first, refused, the_error
from tests.deployments import REPOSITORY, Case
from tests.hub import Hub

TRUSTING = {
    **ONE_CARD,
    "arguments": {"trust-remote-code": True},
    "consents": ["trust-remote-code"],
}


def patch(case: Case, *actions: dict[str, Any]) -> tuple[str, str]:
    """The option that has a person's own patch looked for, whose remedy is this."""
    folder = case.home / "patches"
    folder.mkdir(exist_ok=True)
    content = {
        "id": "mine",
        "title": "A failure of mine",
        "category": "other",
        "match": [{"exception": "RuntimeError", "pattern": r"please use (?P<what>[\w.=-]{1,80})"}],
        "remedy": list(actions),
    }
    (folder / "mine.yaml").write_text(json.dumps(content))
    return "--patches", str(folder)


def started(case: Case) -> list[list[str]]:
    """The command line of every launch."""
    commands = sorted((case.state / "launches").glob("*/command.json"))
    return [json.loads(path.read_text())["argv"] for path in commands]


def in_force(case: Case, **more: Any) -> None:
    """A patch that an older release, or somebody else, put on record."""
    machine = Path("/etc/machine-id")
    case.state.mkdir(parents=True, exist_ok=True)
    record = {
        "action": "patch",
        "patch": "mine",
        "folder": str(case.checkpoint),
        "at": "2026-01-01T00:00:00+00:00",
        **more,
    }
    assert case.deploy("history", "PLAYBOOK").code == 0
    record["machine"] = machine.read_text().strip() if machine.exists() else None
    with (case.state / "journal.jsonl").open("a") as file:
        file.write(json.dumps(record) + "\n")


@pytest.mark.parametrize("name", ["--host", "--api-key", "--middleware"])
def test_a_patch_that_sets_what_is_a_persons_to_choose(whole: Case, name: str) -> None:
    options = patch(whole, {"kind": "flag", "name": name, "op": "set", "value": "0.0.0.0"})
    error = refused(whole, "PLAYBOOK", *options, exit_code=2, code="invalid_patch")
    assert name in error["message"]


@pytest.mark.parametrize("said", ["--host", "--host=0.0.0.0"])
def test_a_log_that_names_an_option(whole: Case, tmp_path: Path, said: str) -> None:
    """Whatever the engine writes, the server stays on its address: the remedy comes to nothing, one launch is made."""
    python = engine_that_first(tmp_path, f"raise RuntimeError('please use {said}')")
    whole.content |= {"engine": {"python": python}, **ONE_CARD}
    whole.write()
    left = whole.deploy(
        "PLAYBOOK", *patch(whole, {"kind": "flag", "name": "{what}", "op": "remove"}), "--json"
    )
    assert left.code == 6, left.out[-2000:] + left.err
    (argv,) = started(whole)
    assert argv[argv.index("--host") + 1] == "127.0.0.1"


def test_a_patch_in_force_that_runs_the_checkpoints_code(whole: Case) -> None:
    whole.content |= ONE_CARD
    whole.write()
    in_force(whole, flags={"--trust-remote-code": "true"})
    for verb in ("up", "remediate", "restart"):
        error = refused(whole, verb, "PLAYBOOK", exit_code=4, code="consent_missing")
        assert "trust-remote-code" in error["message"]
    assert started(whole) == []


def test_a_patch_alone_asks_for_what_it_will_need(whole: Case) -> None:
    trusting = {
        "kind": "flag",
        "name": "--trust-remote-code",
        "op": "set",
        "value": "true",
        "consent": "trust-remote-code",
    }
    words = ("remediate", "PLAYBOOK", "--no-launch", "--patch", "mine", *patch(whole, trusting))
    refused(whole, *words, exit_code=4, code="consent_missing")
    refused(whole, *words, "--yes", exit_code=4, code="consent_missing")
    assert whole.deploy(*words, "--consent", "trust-remote-code").code == 0
    refused(whole, "PLAYBOOK", "--yes", exit_code=4, code="consent_missing")
    whole.content |= {"arguments": {"trust-remote-code": True}}
    whole.write()
    assert (
        whole.deploy("remediate", "PLAYBOOK", "--no-launch", "--patch", "fp8-kv-mla").code == 0
    )  # it runs nothing


def test_a_patch_in_force_that_opens_the_server(whole: Case) -> None:
    whole.content |= ONE_CARD
    whole.write()
    in_force(
        whole,
        flags={"--host": "0.0.0.0"},
        environment={"LD_PRELOAD": "/tmp/evil.so", "HF_ENDPOINT": "http://evil"},
    )
    left = whole.deploy("PLAYBOOK", "--json")
    assert left.code == 0, left.out[-2000:] + left.err
    (argv,) = started(whole)
    assert argv[argv.index("--host") + 1] == "127.0.0.1"
    assert any("a remedy may not set --host" in one["text"] for one in left.of("warning"))
    command = json.loads((whole.state / "launches" / "1" / "command.json").read_text())
    assert "LD_PRELOAD" not in command["environment"]
    assert command["environment"]["HF_ENDPOINT"] == whole.hub.endpoint


def test_code_that_is_not_what_was_trusted(whole: Case) -> None:
    code = whole.checkpoint / "modeling_tiny.py"
    code.write_text("kind = 1\n")
    whole.content |= TRUSTING
    whole.write()
    assert whole.deploy("PLAYBOOK").code == 0
    assert whole.actions().count("consent") == 1
    assert whole.deploy("restart", "PLAYBOOK").code == 0
    assert whole.actions().count("consent") == 1
    assert whole.deploy("stop", "PLAYBOOK").code == 0
    code.write_text("kind = 2\n")
    for verb in ("up", "remediate", "restart"):
        error = refused(whole, verb, "PLAYBOOK", exit_code=4, code="consent_missing")
        assert "modeling_tiny.py changed" in error["message"]
        assert "--consent trust-remote-code" in error["next"]
    assert len(started(whole)) == 2


def test_a_branch_that_moves(case: Case, repositories: Path, tmp_path: Path) -> None:
    """A shard is lost, the download brings it back, and with it what the branch is by now."""
    shutil.copytree(repositories, tmp_path / "hub")
    upstream = tmp_path / "hub" / REPOSITORY / "modeling_tiny.py"
    upstream.write_text("kind = 1\n")
    with Hub(tmp_path / "hub") as hub:
        case.content |= {**TRUSTING, "environment": {"HF_ENDPOINT": hub.endpoint}}
        case.write()
        assert case.deploy("PLAYBOOK").code == 0
        assert case.deploy("stop", "PLAYBOOK").code == 0
        before = hub.commit(REPOSITORY)
        upstream.write_text("kind = 'other'\n")
        next(case.checkpoint.glob("*.safetensors")).unlink()
        left = case.deploy("PLAYBOOK", "--json")
        assert left.code == 4, left.out[-2000:] + left.err
        error = the_error(left)
        assert error["code"] == "consent_missing"
        for part in (before[:12], hub.commit(REPOSITORY)[:12], "modeling_tiny.py changed"):
            assert part in error["message"]
        assert len(started(case)) == 1
        assert case.deploy("PLAYBOOK", "--consent", "trust-remote-code").code == 0


def test_code_in_a_folder_that_an_option_names(whole: Case, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(whole.checkpoint, other)
    (other / "modeling_tiny.py").write_text("kind = 1\n")
    whole.content |= TRUSTING
    whole.write()
    for option in (f"--model-dir={other}", f"--set=checkpoint.folder={other}"):
        error = refused(whole, "PLAYBOOK", option, exit_code=4, code="consent_missing")
        assert str(other) in error["message"]
    assert started(whole) == []


def test_code_from_another_place(whole: Case) -> None:
    (whole.checkpoint / "modeling_tiny.py").write_text("kind = 1\n")
    whole.content |= TRUSTING
    whole.write()
    for option in (
        "--env=HF_ENDPOINT=http://evil",
        "--set=model.revision=v2",
        "--set=environment.HF_ENDPOINT=http://evil",
    ):
        error = refused(whole, "PLAYBOOK", option, exit_code=4, code="consent_missing")
        assert "trust-remote-code" in error["message"]


@pytest.mark.parametrize("consent", [False, True])
def test_the_hubs_token_stays_away_from_a_hub_over_plain_http(whole: Case, consent: bool) -> None:
    whole.content |= ONE_CARD
    whole.write()
    words = [
        "PLAYBOOK",
        "--env",
        "HF_TOKEN=hf_canary",
        *(["--consent", "token-to-endpoint"] if consent else []),
    ]
    left = whole.deploy(*words, "--json")
    assert left.code == 0, left.out[-2000:] + left.err
    members = json.loads(whole.deploy("status", "PLAYBOOK", "--json").out)["members"]
    environments = [Path(f"/proc/{one['pid']}/environ").read_bytes() for one in members]
    assert environments
    for environment in environments:
        assert (b"hf_canary" in environment) is consent
        assert (b"HF_HUB_DISABLE_IMPLICIT_TOKEN=1" in environment) is not consent
    warned = any("HF_TOKEN" in one["text"] for one in left.of("warning"))
    assert warned is not consent
