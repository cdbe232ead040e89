"""What nvidia-smi says about GPUs, in every form in which it was seen."""

from __future__ import annotations

import os
import subprocess
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from orchestrator.facts import gpus
from orchestrator.facts.source import Output, Unknown
from tests.facts.cases_of import cases


@pytest.mark.parametrize(("output", "expected"), cases("gpus"))
def test_cases(output: Output, expected: dict[str, Any]) -> None:
    read = gpus.parse(output)
    if "unknown" in expected:
        assert isinstance(read, Unknown)
        assert read.code == expected["unknown"]
        assert read.reason
        return
    assert isinstance(read, gpus.Gpus)
    assert len(read.gpus) == len(expected["gpus"])
    for card, wanted in zip(read.gpus, expected["gpus"], strict=True):
        values = asdict(card)
        assert values.pop("uuid").startswith("GPU-0000000")
        assert values == {
            **wanted,
            "driver": str(wanted["driver"]),
            "faults": tuple(wanted.get("faults", ())),
        }
    assert list(read.problems) == expected.get("problems", [])


def test_a_name_with_a_comma_stays_whole() -> None:
    read = gpus.parse(Output(0, "0, Odd, Card, GPU-1, 9.0, 100, 1, 580.1, [N/A]\n"))
    assert isinstance(read, gpus.Gpus)
    assert (read.gpus[0].name, read.gpus[0].uuid, read.gpus[0].memory_mib) == ("Odd, Card", "GPU-1", 100)


STAND_IN = """#!/bin/sh
case $1 in
  *compute_cap*) echo 'Field "compute_cap" is not a valid field to query.'; exit 2 ;;
esac
echo '0, Tesla V100, GPU-1, 32510, 4, 470.82.01, [N/A]'
"""


def test_the_command_asks_an_old_driver_again(tmp_path: Path) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text(STAND_IN)
    program.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    done = subprocess.run(gpus.COMMAND.argv, capture_output=True, text=True, env={"PATH": path}, check=False)
    read = gpus.parse(Output(done.returncode, done.stdout, done.stderr))
    assert isinstance(read, gpus.Gpus)
    assert (read.gpus[0].compute_cap, read.gpus[0].memory_mib) == (None, 32510)
