"""Which processes hold GPU memory."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest

from orchestrator.facts import gpu_processes
from orchestrator.facts.source import Said, Unknown
from tests.facts.cases_of import cases


@pytest.mark.parametrize(("said", "expected"), cases("gpu_processes"))
def test_cases(said: Said, expected: dict[str, Any]) -> None:
    read = gpu_processes.parse(said)
    if "unknown" in expected:
        assert isinstance(read, Unknown)
        assert read.code == expected["unknown"]
    else:
        assert not isinstance(read, Unknown)
        assert [asdict(process) for process in read] == expected["processes"]
