"""Every program on a host has its request and its answer here, and they say the same as the program."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from orchestrator.engines.vllm.footprint import FOOTPRINT
from orchestrator.hosts import ship
from orchestrator.programs.launch import StartLaunch
from orchestrator.programs.look import Look
from orchestrator.programs.request import Request
from orchestrator.programs.smoke import Complete
from tests.programs.requests import PROGRAMS, requests


def strings(program: str) -> set[str]:
    """Every string in the program and in what is shipped with it."""
    return {
        node.value
        for _, _, text in ship._modules(program)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_is_asked_nothing_that_it_does_not_read(program: str) -> None:
    asked = requests(program)
    assert asked
    for request in asked:
        assert set(request.model_fields) <= strings(program)


LAUNCH: dict[str, Any] = {
    "instance": "tiny",
    "playbook": "tiny",
    "kind": "nohup",
    "launch_id": "1",
    "argv": ("vllm",),
    "environment": {"A": "b"},
    "unset": (),
    "token_consent": False,
    "gpu_at_most_mib": {},
    "log_name": "vllm.log",
    "footprint": FOOTPRINT,
    "note": {},
}
PLACE: dict[str, Any] = {"host": "127.0.0.1", "port": 8000, "model": "tiny", "api_key": "hush"}
LOOK: dict[str, Any] = {
    "checkpoint": {"folder": "/m", "instance": "tiny"},
    "launch": {"instance": "tiny", "launch": None, "health_path": "/health", **PLACE},
}


@pytest.mark.parametrize(
    "request_",
    [
        StartLaunch.model_validate({**LAUNCH, "secrets": {"HF_TOKEN": "hush"}}),
        Complete.model_validate(
            {**PLACE, "prompt": "2+2=", "max_tokens": 8, "counter": "made", "timeout": 5}
        ),
        Look.model_validate(LOOK),
    ],
    ids=lambda value: value.program,
)
def test_a_request_with_a_secret_is_private_and_does_not_print_it(request_: Request[Any]) -> None:
    assert request_.private
    assert "hush" not in repr(request_)
    assert "hush" in str(request_.plain())


def test_one_without_is_not() -> None:
    assert not StartLaunch.model_validate(LAUNCH).private
