"""What a host's facts come to: cases/NAME.yaml has facts as a file of `--save` does, and the checks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from orchestrator.checks.check import Check
from orchestrator.checks.checks import checks, verdict
from orchestrator.facts import saved
from orchestrator.facts.gather import Facts
from orchestrator.facts.source import Unknown
from orchestrator.playbook.pinned import PinnedEngine
from orchestrator.report.checks_text import check_lines
from orchestrator.report.layout import plain
from tests import yaml_data

CASES = sorted((Path(__file__).parent / "cases").glob("*.yaml"))


def case(path: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml_data.load(path)
    return loaded


def facts_of(stored: dict[str, Any]) -> Facts:
    return saved.read(json.dumps({"version": 1, "host": "gpu7", "at": "", "facts": stored}), "file").facts


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_cases(path: Path) -> None:
    expected = case(path)
    listed = checks(facts_of(expected["facts"]))
    assert [[check.verdict, check.subject, check.sentence] for check in listed] == expected["checks"]
    assert [check.mend for check in listed if check.mend] == expected.get("mends", [])
    assert verdict(listed) == expected["verdict"]


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_line_has_eighty_columns_and_each_mend_one_of_its_own(path: Path) -> None:
    listed = checks(facts_of(case(path)["facts"]))
    mends = [check.mend for check in listed if check.mend]
    lines = [plain(line) for line in check_lines("gpu7", listed, 80)]
    assert [line.strip() for line in lines if line.strip() in mends] == mends
    assert max((len(line) for line in lines if line.strip() not in mends), default=0) <= 80


def test_an_engine_of_our_own_that_will_be_installed_is_no_failure() -> None:
    absent = Facts({"engine": Unknown("no_engine_python", "no such program")})
    (check,) = checks(absent, PinnedEngine.of("vllm==0.16.0"))
    assert (check.verdict, check.sentence) == (
        "pass",
        "vllm==0.16.0 is not there yet; a deployment installs it",
    )
    assert [check.verdict for check in checks(absent)] == ["fail"]
    changed = Facts({"engine": Unknown("no_engine", "vllm is not installed in /e/bin/python3")})
    assert [check.verdict for check in checks(changed, PinnedEngine.of("vllm==0.16.0"))] == ["fail"]


def test_nothing_known_is_no_clean_bill() -> None:
    assert (checks(Facts()), verdict(())) == ((), "unknown")
    assert plain(check_lines("gpu7", (), 80)[0]) == "gpu7: nothing checked"


def test_what_a_host_says_acts_on_no_terminal() -> None:
    lines = check_lines("gpu7", [Check("GPUs", "warn", "\x1b[2J it\x07", "sudo \x1b]0;x\x07")], 80)
    assert not any(sign in plain(line) for line in lines for sign in "\x1b\x07")


def test_the_memory_of_a_launch_of_our_own_is_no_warning() -> None:
    (path,) = (path for path in CASES if path.stem == "everything_wrong")
    listed = checks(facts_of(case(path)["facts"]), ours={8121})
    held = [(check.verdict, check.sentence) for check in listed if check.subject == "GPU memory"]
    assert held[0] == ("pass", "GPU0, GPU1: 80,000 MiB are held by 1 processes of the launch that is there")
    assert [verdict for verdict, _ in held[1:]] == ["warn"]  # what nobody is listed for
