"""Which options a version of the engine refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from orchestrator.base.data_folders import shipped
from orchestrator.engines.command_line import options
from orchestrator.engines.vllm.flags import check_flags, check_variables
from orchestrator.plan import resolve
from orchestrator.playbook import playbook

CASES: list[dict[str, Any]] = YAML(typ="safe").load(Path(__file__).parent / "cases" / "flags.yaml")


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['version']} {' '.join(case['argv'])}")
def test_cases(case: dict[str, Any]) -> None:
    warnings = check_flags(options(case["argv"]), str(case["version"]))
    assert [warning.flag for warning in warnings] == case["refused"]
    assert case.get("says", "") in "".join(warning.sentence for warning in warnings)


@pytest.mark.parametrize("version", ["0.15.0", "0.16.0", "0.19.1", "0.24.0", "0.32.0", "0.33.0"])
def test_the_flagship_is_taken_by_every_version_it_allows(version: str) -> None:
    found = playbook.load(shipped("playbooks") / "kimi-k2.5.yaml")
    assert found.engine.accepts(version)
    assert resolve.requested(found, python="/p", folder="/m").not_taken(version) == ()


def test_variables_that_are_no_longer_read() -> None:
    names = ["VLLM_ATTENTION_BACKEND", "VLLM_ENGINE_READY_TIMEOUT_S", "HOME"]
    assert check_variables(names, "0.14.1") == ()
    (warning,) = check_variables(names, "0.15.0")
    assert warning.flag == "VLLM_ATTENTION_BACKEND"
    assert "use --attention-backend" in warning.sentence
    assert [warning.flag for warning in check_variables(names, "0.13.0")] == ["VLLM_ENGINE_READY_TIMEOUT_S"]


def test_where_there_is_no_advice_the_sentence_ends_with_the_releases() -> None:
    (warning,) = check_flags([("aggregate-engine-logging", None)], "0.10.2")
    assert warning.sentence.endswith("(accepted by 0.11.1 to 0.33.0)")
