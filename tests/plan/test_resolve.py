"""What will be launched: the exact command line and the variables, whoever set them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchestrator.base.data_folders import shipped
from orchestrator.engines.options import Option, Options
from orchestrator.patches import catalogue
from orchestrator.plan import resolve
from orchestrator.plan.change import Change
from orchestrator.playbook import playbook
from orchestrator.playbook.playbook import Playbook
from tests.surveys import WHOLE, survey

BASE = playbook.load(Path(__file__).parents[1] / "playbook" / "cases" / "base.yaml")
PATCH = catalogue.load([shipped("patches")])[0]
HEAD = ("/env/python", "-m", "vllm.entrypoints.openai.api_server", "--model", "/models/m")


def launch(found: Playbook) -> Options:
    return resolve.requested(found, python="/env/python", folder="/models/m")


def change(flags: dict[str, str | None], environment: dict[str, str | None]) -> Change:
    return Change(PATCH, "finding", "", flags=flags, environment=environment)


def test_the_flagship() -> None:
    found = playbook.load(shipped("playbooks") / "kimi-k2.5.yaml")
    assert launch(found).argv == (
        *HEAD,
        *("--served-model-name", "kimi-k2.5", "--host", "0.0.0.0", "--port", "8000"),
        *("--tensor-parallel-size", "8", "--max-model-len", "131072"),
        *("--tool-call-parser", "kimi_k2", "--enable-auto-tool-choice", "--reasoning-parser", "kimi_k2"),
        "--trust-remote-code",
    )


def test_other_kinds_of_parallelism_are_named_when_there_are_any() -> None:
    found = BASE.with_overrides(["parallel={tensor: 2, pipeline: 2, data: 2}", "listen=::1"])
    assert launch(found).argv == (
        *HEAD,
        *("--served-model-name", "base", "--host", "::1", "--port", "8000", "--tensor-parallel-size", "2"),
        *("--pipeline-parallel-size", "2", "--data-parallel-size", "2", "--max-model-len", "4096"),
        *("--reasoning-parser", "kimi_k2", "--seed", "1"),
    )


@pytest.mark.parametrize(
    ("value", "items"),
    [
        (True, ["--x"]),
        (64, ["--x", "64"]),
        (0.92, ["--x", "0.92"]),
        (-1, ["--x=-1"]),
        ("--trust-remote-code", ["--x=--trust-remote-code"]),
        ("a b; $(id) 'q'", ["--x", "a b; $(id) 'q'"]),
        ("", ["--x", ""]),
        ({"mode": 3, "list": [1, "ü"]}, ["--x", '{"mode":3,"list":[1,"\\u00fc"]}']),
        (["a", "b"], ["--x", '["a","b"]']),
    ],
)
def test_values(value: Any, items: list[str]) -> None:
    found = Playbook.model_validate({**BASE.model_dump(), "arguments": {"x": value}})
    assert list(launch(found).argv)[-len(items) :] == items
    assert launch(found).argv[: -len(items)] == launch(BASE).argv[:-4]


def test_each_setting_says_who_set_it() -> None:
    changed = BASE.with_overrides(["arguments.seed=2"], ["max_num_seqs=8"], ["A=1"])
    options = launch(changed).remedied({"--block-size": "32"}, {"B": "1"})
    assert {name: option.origin for name, option in options.given.items()} == {
        **dict.fromkeys(("model", "served-model-name", "host", "port"), "default"),
        **dict.fromkeys(("tensor-parallel-size", "max-model-len", "reasoning-parser"), "playbook"),
        "seed": "option",
        "max-num-seqs": "option",
        "block-size": "remedy",
    }
    origins = {variable.name: variable.origin for variable in options.environment}
    assert origins == {"NCCL_PROTO": "playbook", "A": "option", "B": "remedy"}
    every = [
        "model.served_name=x",
        "listen=::1",
        "port=1",
        *(f"parallel.{size}=2" for size in ("tensor", "pipeline", "data")),
    ]
    asked = launch(BASE.with_overrides([*every, "context=8"])).given
    assert {name for name, option in asked.items() if option.origin != "option"} == {
        "model",
        "reasoning-parser",
        "seed",
    }
    assert launch(BASE.in_folder("/other")).given["model"].origin == "option"
    longer = launch(BASE.with_overrides(["context=2048"])).remedied({"--max-model-len": "4096"}, {})
    assert longer.given["max-model-len"] == Option(2048, "option")


def test_a_remedy_sets_adds_and_takes_away() -> None:
    flags = {"--max-model-len": "1024", "--reasoning_parser": None, "--enforce-eager": "true", "--none": None}
    items = launch(BASE).remedied(flags, {}).argv
    assert items[items.index("--max-model-len") + 1] == "1024"
    assert items.count("--max-model-len") == 1
    assert "--reasoning-parser" not in items
    assert "--none" not in items
    assert items[-1] == "--enforce-eager"


def test_a_remedy_shortens_the_context_and_never_lengthens_it() -> None:
    """What a patch left room for once says nothing against a shorter context that is asked for now."""
    for text, context in (("1024", 1024), ("4096", 4096), ("131072", 4096), ("9" * 400, 4096)):
        assert launch(BASE).remedied({"--max-model-len": text}, {}).context == context


def test_changes_come_after_what_is_in_force_and_the_later_win() -> None:
    record = {
        "action": "patch",
        "patch": "x",
        "folder": WHOLE.folder,
        "flags": {"--seed": "2", "--max-num-seqs": "8"},
        "environment": {"NCCL_PROTO": None, "A": "1"},
    }
    standing = resolve.standing(BASE, survey(journal=[record]))
    assert (standing.value("seed"), standing.value("max-num-seqs")) == ("2", "8")
    assert (standing.sent, standing.removed) == ({"A": "1"}, ("NCCL_PROTO",))
    changes = [change({"--seed": "3"}, {"A": None}), change({"--max-num-seqs": None}, {"NCCL_PROTO": "LL"})]
    options = resolve.changed(standing, changes)
    assert options.value("seed") == "3"
    assert options.value("max-num-seqs") is None
    assert (options.sent, options.removed) == ({"NCCL_PROTO": "LL"}, ("A",))


def test_what_a_remedy_may_not_set_is_left_out_and_told() -> None:
    record = {
        "action": "patch",
        "patch": "x",
        "folder": WHOLE.folder,
        "flags": {"--middleware": "evil.py", "--seed": "2"},
        "environment": {"LD_PRELOAD": "/tmp/evil.so"},
    }
    found = survey(journal=[record])
    assert list(resolve.overruled(BASE, found)) == ["--middleware", "LD_PRELOAD"]
    options = resolve.standing(BASE, found)
    assert options.value("seed") == "2"
    assert options.value("middleware") is None
    assert options.variable("LD_PRELOAD") is None


@pytest.mark.parametrize(
    ("flags", "environment", "why"),
    [
        ({"--speculative-config": "{}"}, {}, "a remedy may not set --speculative-config"),
        ({"--speculative-config": None}, {}, None),
        ({"--tokenizer": None}, {}, "a remedy may not remove --tokenizer"),
        ({"--seed": "a\0b"}, {}, "a value is one line without NUL characters"),
        ({"--distributed-executor-backend": "mp"}, {}, None),
        (
            {"--distributed-executor-backend": "my.module"},
            {},
            "a remedy may not set --distributed-executor-backend",
        ),
        (
            {},
            {"VLLM_ALLOW_RUNTIME_LORA_UPDATING": "1"},
            "a remedy may not set VLLM_ALLOW_RUNTIME_LORA_UPDATING",
        ),
        ({}, {"VLLM_ALLOW_RUNTIME_LORA_UPDATING": None}, None),
        ({}, {"NCCL_NET_PLUGIN": "none"}, None),
        ({}, {"NCCL_NET_PLUGIN": "x"}, "a remedy may not set NCCL_NET_PLUGIN"),
        ({}, {"PATH": None}, "a remedy may not remove PATH"),
    ],
)
def test_a_record_is_judged_as_a_remedy_is(
    flags: dict[str, str | None], environment: dict[str, str | None], why: str | None
) -> None:
    record = {
        "action": "patch",
        "patch": "x",
        "folder": WHOLE.folder,
        "flags": flags,
        "environment": environment,
    }
    (name,) = {**flags, **environment}
    told = resolve.overruled(BASE, survey(journal=[record]))
    assert set(told) == ({name} if why else set())
    assert (why or "") in told.get(name, "")


def test_a_share_is_asked_for_before_remedies_are() -> None:
    record = {
        "action": "patch",
        "patch": "x",
        "folder": WHOLE.folder,
        "flags": {"--gpu-memory-utilization": "0.8"},
    }
    assert resolve.standing(BASE, survey(), share=0.5).memory_share(None) == 0.5
    assert resolve.standing(BASE, survey(journal=[record]), share=0.5).memory_share(None) == 0.8


def test_the_interpreter_is_the_one_that_was_found_or_else_the_playbooks() -> None:
    assert resolve.standing(BASE, survey()).python == "/home/ml/ml-env/bin/python3"
    assert resolve.standing(BASE, survey(version=None)).python == BASE.engine.python


def test_the_playbooks_variables_with_their_reasons() -> None:
    (variable,) = launch(BASE).environment
    assert (variable.name, variable.sent, variable.reason) == ("NCCL_PROTO", "LL", "measured")
    assert variable.shown == "LL"
    assert not variable.secret


def test_a_secret_is_sent_and_not_shown() -> None:
    variable = launch(BASE.with_overrides([], [], ["VLLM_API_KEY=hush"])).environment[-1]
    assert variable.secret
    assert variable.sent == "hush"
    assert "hush" not in repr(variable) + variable.shown


def test_a_remedy_has_the_last_word_on_variables() -> None:
    remedied = launch(BASE).remedied({}, {"NCCL_PROTO": None, "NCCL_P2P_DISABLE": "1", "ROOT_TOKEN": "hush"})
    added, secret = remedied.environment
    assert (added.name, added.sent, added.reason) == ("NCCL_P2P_DISABLE", "1", "set by a remedy")
    assert secret.secret
    assert remedied.removed == ("NCCL_PROTO",)


def test_no_token_goes_to_another_place_than_the_hub() -> None:
    asked = launch(BASE.with_overrides([], [], ["HF_TOKEN=hush", "HF_ENDPOINT=https://mirror.example"]))
    options, withheld = resolve.without_token(asked, None)
    assert withheld == ("HF_TOKEN",)
    assert options.removed == ("HF_TOKEN",)
    instead = {variable.name: variable for variable in options.environment}["HF_TOKEN_PATH"]
    assert (instead.sent, instead.origin) == ("/dev/null", "default")
    assert "without the consent token-to-endpoint" in instead.reason
    assert "hush" not in options.sent.values()
    assert resolve.without_token(launch(BASE), None) == (launch(BASE), ())
    assert resolve.without_token(launch(BASE), "https://mirror.example")[0].variable("HF_TOKEN_PATH")
