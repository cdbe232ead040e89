"""What --set, --engine-arg and --env change, in which order, and how they are repeated where they are wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchestrator.base.errors import UsageError
from orchestrator.playbook import playbook
from orchestrator.playbook.overrides import Override, apply_overrides, parse_overrides
from orchestrator.playbook.playbook import Playbook
from tests import yaml_data

CASES = Path(__file__).parent / "cases"
OVERRIDES: list[dict[str, Any]] = yaml_data.load(CASES / "overrides.yaml")


@pytest.fixture
def base() -> Playbook:
    return playbook.load(CASES / "base.yaml")


@pytest.mark.parametrize("case", OVERRIDES, ids=lambda case: str({**case, "is": "", "says": ""})[:50])
def test_overrides(base: Playbook, case: dict[str, Any]) -> None:
    options = (case.get("set", ()), case.get("engine-arg", ()), case.get("env", ()))
    if "says" in case:
        with pytest.raises(UsageError) as caught:
            base.with_overrides(*options, ambient={"FROM_HERE": "here"})
        assert caught.value.code == "invalid_option"
        assert case["says"] in caught.value.message
        assert "hush" not in caught.value.message
        return
    value: Any = base.with_overrides(*options, ambient={"FROM_HERE": "here"})
    for part in case["key"].split("."):
        value = value[part] if isinstance(value, dict) else getattr(value, part)
    assert (list(value) if isinstance(value, tuple) else value) == case["is"]


def test_overrides_keep_what_they_do_not_name(base: Playbook) -> None:
    changed = base.with_overrides(["port=8001"], ["enforce-eager"], ["A=1"])
    assert (changed.name, changed.source) == (base.name, base.source)
    assert changed.environment["NCCL_PROTO"].reason == "measured"
    assert changed.environment["A"].reason == "given with --env"
    assert base.port == 8000
    assert "enforce-eager" not in base.arguments
    assert base.with_overrides() == base


def parsed(
    *settings: str, engine_args: tuple[str, ...] = (), env: tuple[str, ...] = ()
) -> tuple[Override, ...]:
    return parse_overrides(settings, engine_args, env, {"FROM_HERE": "here"})


def test_each_option_as_a_place_and_a_value() -> None:
    assert parsed("port=8001", engine_args=("--max_num_seqs=8",), env=("A=1",)) == (
        Override("--set port=8001", ("port",), 8001, "8001"),
        Override("--engine-arg --max_num_seqs=8", ("arguments", "max-num-seqs"), "8", "8"),
        Override("--env A", ("environment", "A"), {"value": "1", "reason": "given with --env"}, "1"),
    )


@pytest.mark.parametrize(
    ("setting", "path", "value"),
    [
        ("arguments.kernel_config.some_key=1", ("arguments", "kernel-config.some_key"), 1),
        ("environment.a.b=1", ("environment", "a.b"), 1),
        ("arguments={a: 1}", ("arguments",), {"a": 1}),
        ("smoke.prompt=[", ("smoke", "prompt"), "["),
        ("smoke.prompt=", ("smoke", "prompt"), None),
    ],
)
def test_a_setting_in_the_grammar_of_yaml_or_as_text(setting: str, path: tuple[str, ...], value: Any) -> None:
    (only,) = parsed(setting)
    assert (only.path, only.value) == (path, value)
    assert only.as_text().value == setting.partition("=")[2]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a", True),
        ("--a", True),
        ("a=true", True),
        ("a=False", False),
        ("a=", ""),
        ("a=1", "1"),
        ("a=--b", "--b"),
    ],
)
def test_an_engines_argument_is_text_or_a_switch(text: str, value: Any) -> None:
    assert [item.value for item in parsed(engine_args=(text,))] == [value]


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"settings": "port"}, "--set port: write --set KEY=VALUE, such as --set port=8001"),
        ({"settings": "a..b=1"}, "--set a..b=1: write --set KEY=VALUE"),
        ({"settings": "source=/x"}, "--set source: a playbook's name is that of its file"),
        ({"settings": f"a={'[' * 5000}"}, "--set a="),
        ({"env": "NOT_HERE"}, "--env NOT_HERE: is not set here; write --env NOT_HERE=VALUE"),
        ({"env": "A=\udcff"}, "A: its value is not UTF-8 text"),
        ({"engine_args": f"{'n' * 90}=\udcff"}, f"{'n' * 80}: its value is not UTF-8 text"),
    ],
)
def test_an_option_that_is_malformed(option: dict[str, str], message: str) -> None:
    given = {"settings": (), "engine_args": (), "env": (), **{name: (text,) for name, text in option.items()}}
    with pytest.raises(UsageError) as caught:
        parse_overrides(**given, ambient={})
    assert caught.value.code == "invalid_option"
    assert caught.value.message.startswith(message)


@pytest.mark.parametrize("option", ["--set", "--engine-arg"])
def test_a_value_is_repeated_unless_its_name_says_that_it_is_secret(option: str) -> None:
    key = "settings" if option == "--set" else "engine_args"
    for text, shown in (("port=1", "port=1"), ("hf-token=hush", "hf-token"), ("a b=hush", "a b")):
        given = {"settings": (), "engine_args": (), "env": (), key: (text,)}
        assert [item.option for item in parse_overrides(**given, ambient={})] == [f"{option} {shown}"]


def test_the_data_itself_stays_as_it_was() -> None:
    data = {"model": {"repository": "a/b"}, "port": 1}
    assert apply_overrides(data, parsed("model.revision=v1", "port=null", "smoke.max_tokens=2")) == {
        "model": {"repository": "a/b", "revision": "v1"},
        "smoke": {"max_tokens": 2},
    }
    assert data == {"model": {"repository": "a/b"}, "port": 1}
    assert apply_overrides(data, parsed("nothing=null")) == data


def test_what_is_no_mapping_holds_no_keys() -> None:
    with pytest.raises(
        UsageError, match=r"^--set model.repository.x=1: model.repository holds no further keys$"
    ):
        apply_overrides({"model": {"repository": "a/b"}}, parsed("model.repository.x=1"))
