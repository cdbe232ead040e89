"""The exact command line of a launch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchestrator.base.data_folders import shipped
from orchestrator.engines.vllm.adjustments import Adjustments
from orchestrator.plan.command import engine_command
from orchestrator.playbook import playbook
from orchestrator.playbook.playbook import Playbook

BASE = Path(__file__).parents[1] / "playbook" / "cases" / "base.yaml"
HEAD = ("/env/python", "-m", "vllm.entrypoints.openai.api_server", "--model", "/models/m")


def command(found: Playbook, **options: Any) -> tuple[str, ...]:
    return engine_command(found, python="/env/python", folder="/models/m", **options)


def test_the_flagship() -> None:
    found = playbook.load(shipped("playbooks") / "kimi-k2.5.yaml")
    assert command(found) == (
        *HEAD,
        *("--served-model-name", "kimi-k2.5", "--host", "0.0.0.0", "--port", "8000"),
        *("--tensor-parallel-size", "8", "--max-model-len", "131072"),
        *("--tool-call-parser", "kimi_k2", "--enable-auto-tool-choice", "--reasoning-parser", "kimi_k2"),
        "--trust-remote-code",
    )


def test_other_kinds_of_parallelism_are_named_when_there_are_any() -> None:
    found = playbook.load(BASE).with_overrides(["parallel={tensor: 2, pipeline: 2, data: 2}", "listen=::1"])
    assert command(found) == (
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
    base = playbook.load(BASE)
    found = Playbook.model_validate({**base.model_dump(), "arguments": {"x": value}})
    assert list(command(found))[-len(items) :] == items
    assert command(found)[: -len(items)] == command(base)[:-4]


def test_a_planned_context_replaces_the_playbooks() -> None:
    items = command(playbook.load(BASE), context=2048)
    assert items[items.index("--max-model-len") + 1] == "2048"


def test_a_remedy_sets_adds_and_takes_away() -> None:
    adjustments = Adjustments(
        flags={
            "--max-model-len": "1024",
            "--reasoning_parser": None,
            "--enforce-eager": True,
            "--nothing": None,
        }
    )
    items = command(playbook.load(BASE), context=2048, adjustments=adjustments)
    assert items[items.index("--max-model-len") + 1] == "1024"
    assert items.count("--max-model-len") == 1
    assert "--reasoning-parser" not in items
    assert "--nothing" not in items
    assert items[-1] == "--enforce-eager"


def test_later_remedies_win() -> None:
    first = Adjustments(flags={"--a": "1", "--b": "1"}, environment={"X": "1"})
    both = first.then({"a": None}, {"X": None, "Y": "2"})
    assert both.flags == {"a": None, "b": "1"}
    assert both.environment == {"X": None, "Y": "2"}


def test_a_switch_that_a_remedy_sets_has_no_value() -> None:
    """vLLM's parser has one positional, the model: it would take the word after a switch for it."""
    flags = {"--enforce-eager": "true", "--compilation-config.pass_config.fuse": "true"}
    items = command(playbook.load(BASE), adjustments=Adjustments(flags=flags))
    assert items[-3:] == ("--enforce-eager", "--compilation-config.pass_config.fuse", "true")
