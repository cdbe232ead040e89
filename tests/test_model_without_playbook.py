"""A model that nobody wrote a playbook for: one command from nothing to a completion, on a real sshd."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import stand_in
from tests.deploy import Deploy, Left
from tests.deployments import REPOSITORY, Case
from tests.sshd import Settings, Sshd, end_sshd, launch_sshd

NAME = "deploy-tests--tiny-mla"


class Model:
    """The command with a model's id where it has a playbook otherwise."""

    def __init__(self, case: Case, home: Path) -> None:
        self.case = case
        self.deploy = Deploy(case.server, case.path, home, {"HF_ENDPOINT": case.hub.endpoint})
        self.options = [
            *("--set", f"engine.python={case.content['engine']['python']}"),  # type: ignore[index]
            *("--set", f"port={case.content['port']}", "--set", "ready_timeout=60"),
            *("--env", f"HF_ENDPOINT={case.hub.endpoint}"),
        ]

    def __call__(self, *words: str) -> Left:
        return self.deploy(*(REPOSITORY if word == "MODEL" else word for word in words), *self.options)


@pytest.fixture
def model(case: Case, tmp_path: Path) -> Model:
    return Model(case, tmp_path / "home")


def planned(left: Left) -> dict[str, Any]:
    plan: dict[str, Any] = json.loads(left.out.splitlines()[-1])
    return plan


def test_one_command_brings_it_up_and_the_others_know_it(model: Model) -> None:
    model.options += ["--set", "context=auto"]
    up = model("MODEL", "--json")
    assert up.code == 0, up.err
    (plan,) = up.of("plan")
    assert {choice["key"]: choice["value"] for choice in plan["choices"]} == {
        "arguments.tool-call-parser": None,
        "parallel.tensor": 1,
    }
    assert plan["name"] == NAME
    (result,) = up.of("result")
    assert (result["context"], result["asked_context"]) == (512, "auto")
    again = model("MODEL")
    assert "nothing to do" in again.out
    assert "differs" not in again.out + again.err
    status = model("status", "MODEL").out
    assert "healthy" in status
    assert "512 (auto: as many as fit)" in status
    model.case.hub.requests.clear()
    restarted = model("restart", "MODEL", "--json")
    assert restarted.code == 0, restarted.out + restarted.err
    assert model("remediate", "MODEL").code == 0
    gone = [*model.options[:-4], *("--env", "HF_ENDPOINT=http://127.0.0.1:9"), *model.options[-2:]]
    without = model.deploy(REPOSITORY, *gone)
    assert "nothing to do" in without.out, without.out + without.err
    assert without.out.count("could not be read at") == 1
    assert model("stop", "MODEL").code == 0
    assert model.case.hub.requests == []  # what is there is found, started again and ended without the Hub
    started = (model.case.server.state_home / "deploy" / NAME / "launches").glob("*/command.json")
    first, second = (json.loads(file.read_text())["argv"] for file in started)
    assert first == second
    assert "no config patch applies" in model.deploy("diff", REPOSITORY, *gone).err
    nowhere = [*gone, "--set", "checkpoint.folder=/nowhere"]
    for verb, code in (("restart", "config_missing"), ("plan", "hub_unread")):
        nothing = model.deploy(verb, REPOSITORY, *nowhere)
        assert (nothing.code, code in nothing.err) == (5, True)


def test_a_folder_of_the_host_is_all_that_it_takes(model: Model, repositories: Path, tmp_path: Path) -> None:
    """The whole life of a model that lies on the host, and not a word to the Hub."""
    folder = tmp_path / "Tiny MLA"
    shutil.copytree(repositories / REPOSITORY, folder)
    model.case.hub.requests.clear()
    here = ("--model-dir", str(folder))
    up = model("--json", *here)
    assert up.code == 0, up.err
    (plan,) = up.of("plan")
    assert plan["name"].startswith("tiny-mla-")
    assert {"parallel.tensor", "context"} <= {choice["key"] for choice in plan["choices"]}
    assert [step["name"] for step in plan["steps"]][:2] == ["verify", "patch"]
    (result,) = up.of("result")
    assert (result["model"], result["context"]) == ("Tiny-MLA", 512)
    assert f"--model-dir '{folder}'" in result["text"]
    assert "healthy" in model("status", *here).out
    file = tmp_path / "tiny.yaml"
    assert model("init", *here, "--output", str(file)).code == 0
    by_file = planned(model.deploy("plan", str(file), "--json", "--name", plan["name"]))
    assert by_file["command"] == plan["command"]
    assert model("stop", *here).code == 0
    assert model.case.hub.requests == []


def test_a_folder_that_holds_no_model_is_refused(model: Model, tmp_path: Path) -> None:
    left = model("--model-dir", str(tmp_path))
    assert left.code == 4
    assert "has no config.json" in " ".join(left.err.split())
    assert model("status").code == 2  # neither a playbook nor a folder


def test_the_patch_is_foreseen_before_the_first_byte(model: Model, tmp_path: Path) -> None:
    left = model("plan", "MODEL", "--json", "--model-dir", str(tmp_path / "nothing-yet"))
    assert left.code == 0, left.err
    plan = planned(left)
    assert [item["patch"] for item in plan["patches"]] == ["fp8-kv-mla", "fp8-kv-mla"]
    assert plan["fit"]["verdict"] == "fits"
    assert not [name for name in model.case.hub.fetched() if name.endswith(".safetensors")]


@pytest.mark.parametrize("asked", [[], ["--gpus", "4", "--set", "context=256"]])
def test_the_playbook_that_is_written_comes_to_the_same(
    model: Model, tmp_path: Path, asked: list[str]
) -> None:
    file = tmp_path / f"{NAME}.yaml"
    assert model("init", "MODEL", "--output", str(file), *asked).code == 0
    by_id = planned(model("plan", "MODEL", "--json", *asked))
    by_file = planned(model.deploy("plan", str(file), "--json"))
    # before they are there, what the files say is known by the playbook's figures
    same = ("name", "command", "engine", "fit")
    assert {key: by_id[key] for key in same} == {key: by_file[key] for key in same}
    text = file.read_text()
    assert text.startswith(f"# {REPOSITORY} at ")
    assert "tool-call-parser is left out" in " ".join(text.split())
    again = model("init", "MODEL", "--output", str(file))
    assert (again.code, file.read_text()) == (2, text)


def test_a_wrong_id_asks_no_host(model: Model) -> None:
    left = model.deploy("plan", "deploy-tests/nothing", "--host", "nowhere.invalid")
    assert left.code == 2
    assert "unknown_model" in left.err
    revision = model("MODEL", "--set", "model.revision=v9")
    assert (revision.code, "--set model.revision=main" in revision.err) == (2, True)


def test_an_option_that_is_wrong_leads_to_a_command_that_there_is(model: Model) -> None:
    left = model("MODEL", "--set", "contxt=256")
    assert left.code == 2
    assert "did you mean context" in left.err
    assert "deploy up --help" in left.err


def test_a_consent_is_asked_for_code_of_the_repository(model: Model, repositories: Path) -> None:
    tokenizer = repositories / REPOSITORY / "tokenizer_config.json"
    before = tokenizer.read_text()
    tokenizer.write_text(json.dumps({**json.loads(before), "auto_map": {"AutoTokenizer": ["t.T", None]}}))
    try:
        left = model("plan", "MODEL")
    finally:
        tokenizer.write_text(before)
    assert left.code == 4
    assert "--consent trust-remote-code" in left.err


@pytest.fixture
def bare_server(engine: stand_in.StandIn, tmp_path: Path) -> Iterator[Sshd]:
    """A host whose `python3` has no engine; an environment in its home folder has one."""
    first = tmp_path / "first"
    first.mkdir()
    (first / "python3").symlink_to(sys._base_executable)  # type: ignore[attr-defined]
    running = launch_sshd(Settings(environment={"PATH": f"{first}:{engine.path}"}))
    (running.home / "ml-env").symlink_to(Path(engine.python).parents[1])
    yield running
    end_sshd(running)


def test_the_engine_is_taken_where_the_host_has_one(model: Model, bare_server: Sshd) -> None:
    model.deploy.server = bare_server
    model.options = model.options[2:]  # which named the interpreter
    plan = planned(model("plan", "MODEL", "--json"))
    (choice,) = [choice for choice in plan["choices"] if choice["key"] == "engine.python"]
    assert choice["value"] == plan["engine"]["python"] == plan["command"][0]
    assert "vLLM 0.16.0 is there" in choice["reason"]
    assert plan["refusals"] == []
    named = planned(model("plan", "MODEL", "--json", "--set", "engine.python=python3"))
    assert [refusal["code"] for refusal in named["refusals"]] == ["no_engine"]


def test_it_is_planned_for_cards_by_name(model: Model) -> None:
    environment = {**model.deploy.whole_environment}
    done = subprocess.run(
        [
            *(sys.executable, "-m", "orchestrator.cli.main", "plan", REPOSITORY, "--json"),
            *("--gpu", "2xRTX PRO 6000", "--vllm", "0.16.0"),
        ],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    plan = json.loads(done.stdout)
    assert {"parallel.tensor", "context"} <= {choice["key"] for choice in plan["choices"]}
    assert plan["predictions"][0]["patch"] == "fp8-kv-mla"


def test_a_playbook_is_written_for_cards_by_name(model: Model) -> None:
    words = [*(sys.executable, "-m", "orchestrator.cli.main", "init", REPOSITORY), "--output", "-"]
    cards = ["--gpu", "2xRTX PRO 6000", "--vllm", "0.16.0"]
    environment = model.deploy.whole_environment
    done = subprocess.run([*words, *cards], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "context: 512" in done.stdout
