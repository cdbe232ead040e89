"""What must not matter to a diagnosis: talk of others in between, and how many ranks tell the same."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.diagnosis.engine import diagnose_log
from orchestrator.diagnosis.verdict import Diagnosis
from orchestrator.engines.vllm.log.grammar import GRAMMAR
from tests.diagnosis.labels import CASES, expected, known_of, log
from tests.diagnosis.test_cases import PATCHES

TALK = b"(Metrics pid=99999) INFO 02-20 21:35:07 [loggers.py:127] nothing that anybody needs to know"
RANK = re.compile(rb"\(Worker_TP(\d+) pid=(\d+)\)")
RECORD = re.compile(rb"\(?[\w ]*(?:pid=\d+\) )?(?:DEBUG|INFO|WARNING|ERROR) \d\d-\d\d \d\d:\d\d:\d\d")
"""A line that begins a record: between two of these there is no message of several lines."""
FAULTS = {case.name: case for case in CASES if expected(case)["verdict"] in ("fault", "unknown_fault")}
WITH_RANKS = [
    name for name, case in FAULTS.items() if len(RANK.findall(log(case))) > 40 and b"{" not in log(case)[:1]
]


def diagnosed(name: str, text: bytes) -> Diagnosis:
    return diagnose_log([text], grammar=GRAMMAR, known=known_of(expected(FAULTS[name])), patches=PATCHES)


def said(found: Diagnosis) -> tuple[object, ...]:
    """Verdict, patch, remedy and the first line of the cause."""
    cause = found.root_cause.text.split("\n")[0] if found.root_cause else None
    return found.verdict, found.finding, found.remedy, cause


@settings(max_examples=40)
@given(st.data())
def test_benign_lines_in_between_change_nothing(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(FAULTS)), label="case")
    lines = log(FAULTS[name]).split(b"\n")
    if b"\r\n" in log(FAULTS[name]) or log(FAULTS[name]).startswith(b"{"):
        return  # carriers of their own: the talk would not wear them
    gaps = [
        number
        for number, line in enumerate(lines)
        if number and RECORD.match(line) and RECORD.match(lines[number - 1])
    ]
    chosen = data.draw(
        st.lists(st.sampled_from(gaps), max_size=12, unique=True) if gaps else st.just([]), label="gaps"
    )
    mixed = [part for number, line in enumerate(lines) for part in ([TALK] * (number in chosen) + [line])]
    assert said(diagnosed(name, b"\n".join(mixed))) == said(diagnosed(name, b"\n".join(lines)))


@pytest.mark.parametrize("name", WITH_RANKS)
def test_twice_as_many_ranks_change_the_fold_alone(name: str) -> None:
    doubled = []
    for line in log(FAULTS[name]).split(b"\n"):
        doubled.append(line)
        if RANK.match(line):
            twin = RANK.sub(
                lambda rank: b"(Worker_TP%d pid=%d)" % (int(rank[1]) + 100, int(rank[2]) + 100000), line
            )
            doubled.append(twin)
    few, many = diagnosed(name, log(FAULTS[name])), diagnosed(name, b"\n".join(doubled))
    assert said(many) == said(few)
    assert many.root_cause is not None and few.root_cause is not None
    assert many.root_cause.process == few.root_cause.process
    assert set(few.folded.processes) <= set(many.folded.processes)
