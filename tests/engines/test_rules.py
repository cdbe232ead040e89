"""Which options and variables a playbook may hold and a remedy may touch, by rules of an engine of these tests."""

from __future__ import annotations

import re
from typing import Any

import pytest

from orchestrator.engines.rules import ArgumentRules, VariableRules

ARGUMENTS = ArgumentRules(
    reserved={"port": "set port instead", "max-model-len": "set context instead"},
    adjustable=frozenset({"max-model-len"}),
    personal=("ssl-*", "middleware", "parser-plugin"),
    dropped_only=("hf-overrides",),
    by_name=("executor-backend",),
    whole=("parser",),
)
VARIABLES = VariableRules(own=re.compile(r"(?:ENGINE|NCCL)_\w+"), dropped_only=re.compile(r"ENGINE_HOOKS"))


@pytest.mark.parametrize(
    ("name", "canonical"),
    [
        ("max_num_seqs", "max-num-seqs"),
        ("kernel-config.some_key", "kernel-config.some_key"),
        ("portal", "portal"),
    ],
)
def test_a_playbook_may_hold_any_long_option_that_is_not_set_elsewhere(name: str, canonical: str) -> None:
    assert ARGUMENTS.checked_name(name) == canonical


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (3, "3 is not a name; write the option's long name without dashes"),
        ("--max-num-seqs", "write the option's long name without dashes: max-num-seqs"),
        ("--", "write the option's long name without dashes: ..."),
        ("Max Seqs", "'Max Seqs' is not an option's long name; allowed: a-z, 0-9, - (max-num-seqs)"),
        ("", "'' is not an option's long name"),
        ("port", "is not set as an argument: set port instead"),
        ("max_model", "is not set as an argument: set context instead"),
        ("port.key", "is not set as an argument: set port instead"),
    ],
)
def test_what_it_may_not_hold_is_told_with_what_to_write_instead(name: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        ARGUMENTS.checked_name(name)


def test_a_name_without_an_end_is_told_in_short() -> None:
    with pytest.raises(ValueError, match="is not an option's long name") as caught:
        ARGUMENTS.checked_name("X" * 5000)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("name", "op", "value", "bare"),
    [
        ("--max_num_seqs", "set", "8", "max-num-seqs"),
        ("--max-model-len", "set", "4096", "max-model-len"),
        ("--no-enable-x", "set", None, "no-enable-x"),
        ("--parser", "set", "a", "parser"),
        ("--hf-overrides", "remove", None, "hf-overrides"),
        ("--hf-overrides", "remove", '{"plugin": 1}', "hf-overrides"),
        ("--executor-backend", "set", "mp", "executor-backend"),
        ("--executor-backend", "remove", "a.b", "executor-backend"),
        ("--config.key", "set", '{"pooling": "CLS"}', "config.key"),
        ("--config", "set", "a.b", "config"),
    ],
)
def test_what_a_remedy_may_touch(name: str, op: str, value: str | None, bare: str) -> None:
    assert ARGUMENTS.remedied(name, op, value) == bare


@pytest.mark.parametrize(
    ("name", "op", "value", "message"),
    [
        ("max-num-seqs", "set", "8", "'max-num-seqs' is not an option's long name; allowed: --NAME"),
        ("--Max Seqs", "set", "8", "'--Max Seqs' is not an option's long name; allowed: --NAME"),
        ("--port", "set", "1", "a remedy may not set --port: --port is for a person to choose"),
        ("--po", "remove", None, "a remedy may not remove --po: --port is for a person to choose"),
        ("--no-port", "set", None, "a remedy may not set --no-port: --port is for a person to choose"),
        ("--port.key", "set", "1", "a remedy may not set --port.key: --port is for a person to choose"),
        ("--ssl-keyfile", "remove", None, "a remedy may not remove --ssl-keyfile: --ssl-* is for a person"),
        ("--ssl", "remove", None, "a remedy may not remove --ssl: --ssl-* is for a person"),
        ("--parser-plug", "set", "x", "a remedy may not set --parser-plug: --parser-plugin is for a person"),
        (
            "--hf-overrides",
            "set",
            "{}",
            "a remedy may not set --hf-overrides: --hf-overrides is for a person",
        ),
        ("--executor-backend", "set", "a.b", "a remedy may not set --executor-backend to what names code"),
        ("--config", "set", '{"a": {"worker_cls": "x"}}', "a remedy may not set --config to what names code"),
        ("--config.io_plugin", "set", "x", "a remedy may not set --config.io_plugin to what names code"),
    ],
)
def test_what_is_a_persons_to_choose(name: str, op: str, value: str | None, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        ARGUMENTS.remedied(name, op, value)


@pytest.mark.parametrize(
    ("name", "op", "value"),
    [
        ("NCCL_P2P_DISABLE", "set", "1"),
        ("ENGINE_HOOKS", "remove", None),
        ("NCCL_NET_PLUGIN", "set", "none"),
        ("PYTHONUNBUFFERED", "set", "1"),
        ("HF_HUB_OFFLINE", "set", "1"),
    ],
)
def test_a_variable_that_a_remedy_may_touch(name: str, op: str, value: str | None) -> None:
    assert VARIABLES.remedied(name, op, value) == name


@pytest.mark.parametrize(
    ("name", "op", "value", "message"),
    [
        ("A B", "set", "1", "'A B' cannot name a variable; allowed: letters, digits and _"),
        ("1A", "set", "1", "'1A' cannot name a variable"),
        ("ENGINE_HOOKS", "set", "x", "a remedy may not set ENGINE_HOOKS: it is for a person to choose"),
        ("PATH", "remove", None, "a remedy may not remove PATH: it is for a person to choose"),
        ("HF_TOKEN", "remove", None, "a remedy may not remove HF_TOKEN: it is for a person to choose"),
        ("NCCL_NET_PLUGIN", "set", "libx.so", "a remedy may not set NCCL_NET_PLUGIN: it is for a person"),
        ("NCCL_NET_PLUGIN", "remove", None, "a remedy may not remove NCCL_NET_PLUGIN: it is for a person"),
        ("https_proxy", "set", "none", "a remedy may not set https_proxy: it is for a person to choose"),
    ],
)
def test_a_variable_that_it_may_not(name: str, op: str, value: str | None, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        VARIABLES.remedied(name, op, value)


def test_a_variable_is_the_engines_own_as_a_whole() -> None:
    assert VARIABLES.is_own("NCCL_DEBUG")
    assert not VARIABLES.is_own("MY_NCCL_DEBUG")
    assert not VARIABLES.is_own("NCCL_DEBUG=1")
