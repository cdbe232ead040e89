"""Whether a launch of vLLM leaves the stacks of a process that gets stuck, by version and by what is asked."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.engines.vllm.watchdog import DUMPS
from orchestrator.on_host.kinds.kind import HERE
from tests.engines.test_for_version import launch

FOLDER = "watchdog-config.dump_dir"


@pytest.mark.parametrize(("version", "left"), [("0.33.0", True), ("0.34.1", True), ("0.32.0", False), ("0.16.0", False), ("x", False)])  # fmt: skip
def test_only_of_a_version_that_has_a_watchdog(version: str, left: bool) -> None:
    options = launch({}).leaving_stacks(version)
    assert (options.value(FOLDER) == HERE) is left
    assert [each.option for each in options.additions] == [f"--{FOLDER} {HERE}"] * left
    assert options.leaving_stacks(version) == options


@pytest.mark.parametrize(
    "asked", [{"watchdog-config.timeout": 60}, {"watchdog_config": {"timeout": 60}}, {FOLDER: "/tmp"}]
)
def test_what_somebody_set_of_it_stays(asked: dict[str, Any]) -> None:
    options = launch(asked)
    assert options.leaving_stacks("0.33.0") == options


def test_its_files_are_found_by_their_names() -> None:
    assert DUMPS == "VLLM_STACK_DUMP_for_*.log"
