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

UNTOLD = {"compute_mode": None, "ecc_uncorrected": None, "fabric": None, "recovery": None}


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
        assert card.unusable == expected.get("unusable", {}).get(card.index)
        assert list(card.doubts) == expected.get("doubts", {}).get(card.index, [])
        assert card.mend == expected.get("mend", {}).get(card.index)
        assert values.pop("uuid").startswith("GPU-0000000")
        assert values == {
            **UNTOLD,
            **wanted,
            "driver": str(wanted["driver"]),
            "faults": tuple(wanted.get("faults", ())),
            "remapping": tuple(wanted.get("remapping", ())),
        }
    assert list(read.problems) == expected.get("problems", [])


def test_a_name_with_a_comma_stays_whole() -> None:
    read = gpus.parse(Output(0, "0, Odd, Card, GPU-1, 9.0, 100, 1, 580.1, [N/A]\n"))
    assert isinstance(read, gpus.Gpus)
    assert (read.gpus[0].name, read.gpus[0].uuid, read.gpus[0].memory_mib) == ("Odd, Card", "GPU-1", 100)


STAND_IN = """#!/bin/sh
case $1 in
  *{unknown}*) echo 'Field "{unknown}" is not a valid field to query.'; exit 2 ;;
  *compute_cap*recovery*) echo '0, H200, GPU-1, 9.0, 143771, 0, 580.1, Disabled, Default, 0, No, No, Completed, Reset' ;;
  *compute_cap*fabric*) echo '0, A100, GPU-1, 8.0, 81920, 4, 535.1, Disabled, Default, 3, Yes, No, N/A' ;;
  *compute_cap*) echo '0, A100, GPU-1, 8.0, 81920, 4, 510.1, Disabled, Default, 3' ;;
  *) echo '0, Tesla V100, GPU-1, 32510, 4, 470.82.01, [N/A]' ;;
esac
"""


@pytest.mark.parametrize(
    ("unknown", "expected"),
    [
        ("nonsense", ("9.0", 143771, 0, (), "Reset")),
        ("gpu_recovery_action", ("8.0", 81920, 3, ("pending",), None)),
        ("fabric.state", ("8.0", 81920, 3, (), None)),
        ("compute_cap", (None, 32510, None, (), None)),
    ],
)
def test_an_old_driver_is_asked_for_less(tmp_path: Path, unknown: str, expected: tuple[Any, ...]) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text(STAND_IN.format(unknown=unknown))
    program.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    done = subprocess.run(gpus.COMMAND.argv, capture_output=True, text=True, env={"PATH": path}, check=False)
    read = gpus.parse(Output(done.returncode, done.stdout, done.stderr))
    assert isinstance(read, gpus.Gpus)
    card = read.gpus[0]
    assert (
        card.compute_cap,
        card.memory_mib,
        card.ecc_uncorrected,
        card.remapping,
        card.recovery,
    ) == expected
