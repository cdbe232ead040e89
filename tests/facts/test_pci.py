"""Which GPUs are on the bus."""

from __future__ import annotations

import subprocess
from dataclasses import asdict
from typing import Any

import pytest

from orchestrator.facts import pci
from orchestrator.facts.source import Output, Unknown
from tests.facts.cases_of import cases


@pytest.mark.parametrize(("output", "expected"), cases("pci"))
def test_cases(output: Output, expected: dict[str, Any]) -> None:
    read = pci.parse(output)
    if "unknown" in expected:
        assert isinstance(read, Unknown)
        assert read.code == expected["unknown"]
        return
    assert not isinstance(read, Unknown)
    assert [asdict(device) for device in read] == expected["devices"]
    for answering, words in expected["listed"].items():
        assert pci.listed(read, answering) == words


def test_this_very_machine_answers() -> None:
    done = subprocess.run(pci.COMMAND.argv, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    read = pci.parse(Output(done.returncode, done.stdout))
    lines = [line for line in done.stdout.splitlines() if line != "bus"]
    assert isinstance(read, Unknown) or len(read) == len(lines)
