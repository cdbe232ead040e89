"""Which texts of a log may become part of a remedy: anybody who is served can write into a log."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from orchestrator.base.data_folders import shipped
from orchestrator.patches import catalogue
from orchestrator.patches.known import Known
from orchestrator.patches.patch import Patch
from orchestrator.patches.proposal import ProposedWay
from orchestrator.patches.propose import edits_then, ways, with_numbers


def proposed(action: dict[str, Any], text: str, arguments: dict[str, str] | None = None) -> bool:
    patch = Patch.model_validate(
        {
            "id": "mine",
            "title": "A failure of mine",
            "category": "other",
            "match": [{"exception": "MyError", "pattern": r"need (?P<what>[\w.-]{1,80})"}],
            "remedy": [action],
        }
    )
    return bool(ways(patch, Known(groups={"what": text}, arguments=arguments)))


VALUE = {"kind": "flag", "name": "--max-num-seqs", "op": "set", "value": "{what}"}
VARIABLE = {"kind": "env", "name": "VLLM_ATTENTION_BACKEND", "op": "set", "value": "{what}"}
DROP = {"kind": "flag", "name": "{what}", "op": "remove"}
UNSET = {"kind": "env", "name": "{what}", "op": "remove"}
FETCH = {"kind": "redownload", "name": "{what}"}
INSTALL = {"kind": "install", "name": "{what}", "consent": "install"}


@pytest.mark.parametrize(
    ("action", "text"),
    [
        (VALUE, "--trust-remote-code"),
        (VALUE, "-1"),
        (VALUE, "1\n--host 0.0.0.0"),
        (VALUE, "1\x1b[2J"),
        (VALUE, "/tmp/evil.so"),
        (VALUE, "9" * 300),
        ({**VALUE, "name": "--distributed-executor-backend"}, "x.y.Executor"),
        ({**VALUE, "name": "--structured-outputs-config"}, '{"reasoning_parser_plugin": "x.py"}'),
        (VARIABLE, "http://evil/x"),
        (VARIABLE, "$(id)"),
        (DROP, "--host"),
        (DROP, "--no-host"),
        (DROP, "--ssl-keyfile"),
        (DROP, "--max-num-seqs --host"),
        (DROP, "max-num-seqs"),
        (UNSET, "PATH"),
        (UNSET, "VLLM_API_KEY"),
        (UNSET, "NO_PROXY"),
        (UNSET, "MY_OWN"),
        (FETCH, "../../.ssh/authorized_keys"),
        (FETCH, "/etc/passwd"),
        (FETCH, "a/../../b"),
        (FETCH, "-rf"),
        (INSTALL, "--index-url=http://evil x"),
        (INSTALL, "git+http://evil/x"),
        (INSTALL, "x; rm -rf ~"),
    ],
)
def test_a_text_that_does_nothing(action: dict[str, Any], text: str) -> None:
    assert not proposed(action, text)


@pytest.mark.parametrize(
    ("action", "text"),
    [
        ({**VALUE, "name": "--distributed-executor-backend"}, "mp"),
        (VALUE, "128"),
        (VALUE, '{"pooling_type": "CLS"}'),
        (VARIABLE, "TRITON_ATTN"),
        (DROP, "--swap-space"),
        (UNSET, "VLLM_USE_V1"),
        (FETCH, "model-00003-of-00006.safetensors"),
        (FETCH, "sub/model.safetensors"),
        (INSTALL, "ray[cgraph]"),
    ],
)
def test_a_text_that_is_what_it_should_be(action: dict[str, Any], text: str) -> None:
    assert proposed(action, text)


def test_only_an_option_that_was_given_is_dropped() -> None:
    assert proposed(DROP, "--swap-space", {"swap_space": "4"})
    assert not proposed(DROP, "--swap-space", {"model": "m"})


@pytest.mark.parametrize(
    ("arguments", "said"),
    [({"port": "8123"}, ":8123'"), ({}, ":8000'"), (None, ":8000'"), ({"port": "1; rm -rf ~"}, ":8000'")],
)
def test_an_advice_names_the_launchs_own_port(arguments: dict[str, str] | None, said: str) -> None:
    patch = next(one for one in catalogue.load([shipped("patches")]) if one.id == "port-in-use")
    (advised,) = with_numbers(patch.advice, Known(arguments=arguments))
    assert said in advised and "{" not in advised


@pytest.mark.parametrize(
    ("found", "said"),
    [({"option": "--enable-metrics"}, "Leave --enable-metrics away"), ({}, "Leave the option away"), ({"option": "$(rm)"}, "Leave the option away")],
)  # fmt: skip
def test_an_advice_names_the_option_that_was_refused(found: dict[str, str], said: str) -> None:
    patch = next(one for one in catalogue.load([shipped("patches")]) if one.id == "cli-unknown-option")
    assert with_numbers(patch.advice, Known(groups=found))[0].startswith(said)


@pytest.mark.parametrize(
    ("found", "said"),
    [({"missing": "curand_kernel.h"}, "where curand_kernel.h is not"), ({"missing": "$(rm)"}, "where the header, library")],
)  # fmt: skip
def test_an_advice_names_what_a_compiler_lacks(found: dict[str, str], said: str) -> None:
    patch = next(one for one in catalogue.load([shipped("patches")]) if one.id == "flashinfer-jit-failed")
    assert said in with_numbers(patch.advice, Known(groups=found))[0]


def test_other_braces_of_an_advice_stay() -> None:
    given = {"advice": ["--x '{\"image\": 1}' {unknown}"], "match": [{"text": "a"}]}
    patch = Patch.model_validate({"id": "mine", "title": "t", "category": "other", **given})
    assert with_numbers(patch.advice, Known()) == patch.advice


def way_of(*actions: dict[str, Any], known: Known | None = None, **way: Any) -> ProposedWay | None:
    given = {"remedy": [{"do": [*actions], **way}], "match": [{"text": "a"}]}
    patch = Patch.model_validate({"id": "mine", "title": "t", "category": "other", **given})
    return next(iter(ways(patch, known or Known())), None)


def test_a_way_tells_its_cost_its_consents_once_each_and_what_it_does_not_go_with() -> None:
    install = {"kind": "install", "name": "ninja", "consent": "install"}
    way = way_of(
        install, {**install, "name": "ray"}, DROPPED, cost="minutes", conflicts={"other": "both set it"}
    )
    assert way is not None
    assert [action.model_dump() for action in way.actions] == [
        {"kind": "install", "name": "ninja"},
        {"kind": "install", "name": "ray"},
        {"kind": "flag", "name": "--swap-space", "op": "remove"},
    ]
    assert (way.cost, way.consents, way.conflicts) == ("minutes", ("install",), {"other": "both set it"})
    assert not way.automatic


DROPPED = {"kind": "flag", "name": "--swap-space", "op": "remove"}


def test_what_is_not_allowed_here_is_left_out_of_a_way() -> None:
    here, elsewhere = (
        {**DROPPED, "when": {"gpus": "==8"}},
        {"kind": "cleanup", "name": "shm", "when": {"gpus": "==1"}},
    )
    way = way_of(here, elsewhere, known=Known(gpus=8))
    assert way is not None
    assert [action.kind for action in way.actions] == ["flag"]
    assert way_of(here, elsewhere) is None
    assert way_of(DROPPED, known=Known(gpus=8), unless={"gpus": "==8"}) is None


def test_a_value_is_worked_out_of_the_failures_own_numbers_and_a_way_without_it_is_none() -> None:
    worked = {"kind": "flag", "name": "--max-model-len", "op": "set", "formula": "floor(limit, 16)"}
    way = way_of(worked, known=Known(arguments={"limit": "1000"}))
    assert way is not None
    (action,) = way.actions
    assert action.model_dump() == {"kind": "flag", "name": "--max-model-len", "op": "set", "value": "992"}
    assert way_of(DROPPED, worked) is None


def test_a_value_as_it_stands_in_the_patch_is_set_whatever_a_log_might_not_say() -> None:
    path = {"kind": "env", "name": "VLLM_CACHE_ROOT", "op": "set", "value": "/tmp/cache"}
    way = way_of(path)
    assert way is not None
    assert way.automatic
    assert [action.value for action in way.actions] == ["/tmp/cache"]


def test_which_of_the_ways_it_is_is_counted_over_those_left_out() -> None:
    remedy = [{"do": [DROPPED], "when": {"gpus": "==1"}}, {"do": [DROPPED]}]
    patch = Patch.model_validate(
        {"id": "mine", "title": "t", "category": "other", "match": [{"text": "a"}], "remedy": remedy}
    )
    assert [way.number for way in ways(patch, Known(gpus=8))] == [1]


def test_a_way_that_answers_a_failure_which_came_back_is_never_the_first() -> None:
    first = {"do": [{**DROPPED, "when": {"gpus": "==8"}}], "when": {"gpus": "==8"}}
    then = {"do": [{"kind": "env", "name": "NCCL_DEBUG", "op": "set", "value": "INFO"}], "again": True}
    patch = Patch(id="mine", title="t", category="other", match=({"text": "x"},), remedy=(first, then))
    assert [way.number for way in ways(patch, Known(gpus=8))] == [0, 1]
    assert ways(patch, Known(gpus=4)) == ()


def test_once_an_option_is_gone_the_files_are_edited_that_it_hid() -> None:
    edit = {
        "kind": "config",
        "file": "config.json",
        "path": "/odd",
        "op": "remove",
        "unless": {"arguments": {"x": "*"}},
    }
    given = {
        "remedy": [{"do": [{"kind": "cleanup", "name": "shm"}]}, {"do": [DROPPED, edit]}],
        "match": [{"text": "a"}],
    }
    patch = Patch.model_validate({"id": "mine", "title": "t", "category": "other", **given})
    known = Known(kind="vllm", documents={"config.json": {"odd": 1}})
    assert [action.path for action in edits_then(patch, 1, known)] == ["/odd"]
    assert edits_then(patch, 1, replace(known, arguments={"x": "1"})) == ()
    assert edits_then(patch, 0, known) == ()


@pytest.mark.parametrize(
    ("action", "kind", "taken"),
    [
        ({"kind": "flag", "name": "--model-path", "op": "set", "value": "x"}, "vllm", True),
        ({"kind": "flag", "name": "--model-path", "op": "set", "value": "x"}, "sglang", False),
        ({"kind": "flag", "name": "--model-path", "op": "remove"}, "sglang", False),
        ({"kind": "flag", "name": "--mem-fraction-static", "op": "set", "value": "0.9"}, "sglang", True),
        ({"kind": "env", "name": "NCCL_P2P_DISABLE", "op": "set", "value": "1"}, "sglang", True),
        ({"kind": "env", "name": "{what}", "op": "remove"}, "sglang", True),
        ({"kind": "env", "name": "{what}", "op": "remove"}, "vllm", False),
    ],
)
def test_a_remedy_touches_what_the_engine_that_runs_lets_it(
    action: dict[str, str], kind: str, taken: bool
) -> None:
    match = {"text": "a", "pattern": "(?P<what>SGLANG_[A-Z]{1,9})"}
    read = Patch.model_validate(
        {"id": "p", "title": "t", "category": "other", "match": [match], "remedy": [action], "cost": "none"}
    )
    assert bool(ways(read, Known(kind=kind, groups={"what": "SGLANG_X"}))) is taken
