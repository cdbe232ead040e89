"""What a `when` may ask for, members of config files among it, and that one of them which does not hold is enough."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.patches.action import Way
from orchestrator.patches.known import Known
from orchestrator.patches.when import When

KNOWN = Known(
    kind="vllm",
    version="0.16.0",
    compute_cap="12.0",
    gpus=8,
    engine={"kv_cache_dtype": "fp8_e4m3"},
    arguments={"max_num_seqs": "256", "enforce_eager": "True"},
    groups={"size": "12"},
    attention="mla",
    cache_type="auto",
    documents={"config.json": {"quant_method": "ModelOpt", "tied": False, "layers": [1], "gone": None}},
)
HOLDING: list[dict[str, Any]] = [
    {"vllm": ">=0.14,<0.18"},
    {"compute_cap": ["9.*", "12.*"]},
    {"gpus": ">4"},
    {"attention": ["gqa", "mla"]},
    {"cache_type": "auto"},
    {"engine": {"kv_cache_dtype": "fp8*"}},
    {"arguments": {"enforce_eager": True}},
    {"holds": "max_num_seqs > 128 and size == 12"},
    {
        "config": {
            "/quant_method": "modelopt*",
            "/tied": False,
            "/layers": "list",
            "/gone": None,
            "/never": None,
        }
    },
    {"config": {"/quant_method": ["!fp8"], "/never": "!fp8"}},
]


@pytest.mark.parametrize("when", HOLDING)
def test_what_is_known_to_hold(when: dict[str, Any]) -> None:
    assert KNOWN.hold(When.model_validate(when))
    assert not Known().hold(When.model_validate(when))


@pytest.mark.parametrize(
    "when",
    [
        {"vllm": ">=0.17"}, {"compute_cap": "9.*"}, {"gpus": "<8"}, {"attention": "gqa"}, {"cache_type": "fp8*"}, {"engine": {"kv_cache_dtype": "auto"}},
        {"arguments": {"max_model_len": "*"}}, {"holds": "missing > 1"}, {"config": {"/quant_method": "!modelopt"}},
        {"config": {"/gone": "*"}}, {"config": {"/quant_method": None}}, {"config": {"/tied": True}},
    ],
)  # fmt: skip
@pytest.mark.parametrize("beside", HOLDING[:2])
def test_one_that_does_not_hold_is_enough(when: dict[str, Any], beside: dict[str, Any]) -> None:
    assert not KNOWN.hold(When.model_validate({**beside, **when}))


@pytest.mark.parametrize(
    ("when", "unless", "allowed"),
    [
        ([], [], True),
        ([{"gpus": ">4"}], [], True),
        ([{"gpus": ">9"}, {"vllm": ">0.1"}], [], True),  # one of them is enough
        ([{"gpus": ">9"}], [], False),
        ([], [{"gpus": ">9"}, {"vllm": ">0.1"}], False),
        ([], [{"gpus": ">9", "vllm": ">0.1"}], True),  # a set of circumstances holds as a whole
        ([{"gpus": ">4"}], [{"gpus": ">4"}], False),
    ],
)
def test_when_and_unless(when: list[dict[str, Any]], unless: list[dict[str, Any]], allowed: bool) -> None:
    do = [{"kind": "cleanup", "name": "shm"}]
    assert KNOWN.allow(Way.model_validate({"do": do, "when": when, "unless": unless})) is allowed


def test_a_number_is_the_failures_before_the_commands() -> None:
    assert KNOWN.number("size") == 12 and KNOWN.number("max_num_seqs") == 256 and KNOWN.number("gpus") == 8
    assert KNOWN.number("missing") is None
