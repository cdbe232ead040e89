"""Data cases of a fact: NAME.txt is what its command printed, NAME.yaml what it must be read as."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchestrator.facts.source import Output
from tests import yaml_data

CASES = Path(__file__).parent / "cases"


def cases(fact: str) -> list[Any]:
    """Parameters (what was printed, what is expected) of every case; a text without expectation is a mistake."""
    parameters = [pytest.param(*_case(path), id=path.stem) for path in sorted((CASES / fact).glob("*.txt"))]
    assert parameters
    return parameters


def _case(path: Path) -> tuple[Output, dict[str, Any]]:
    expected: dict[str, Any] = yaml_data.load(path.with_suffix(".yaml"))
    # bytes, not text: a carriage return in an output is part of the case
    return Output(expected.pop("rc", 0), path.read_bytes().decode()), expected
