"""A log with its newest line first is known by its records' times, and read from its end."""

from __future__ import annotations

import pytest

from orchestrator.diagnosis.carriers.newest_first import Turned, is_newest_first
from orchestrator.diagnosis.engine import diagnose_log
from orchestrator.engines.vllm.log.grammar import GRAMMAR
from orchestrator.patches.known import Known
from tests.diagnosis.labels import CASES, log, named
from tests.diagnosis.test_cases import PATCHES

KIMI = log(named("mla-fp8kv-kimi-k25-tp8"))
RECORD = b"(EngineCore pid=9) INFO 02-20 21:%02d:07 [core.py:9] so far\n"


def reversed_(text: bytes) -> bytes:
    return b"".join(line.rstrip(b"\n") + b"\n" for line in reversed(text.splitlines(keepends=True)))


@pytest.mark.parametrize(
    ("minutes", "newest_first"),
    [
        ([5, 4, 3, 2], True),
        ([5, 5, 4, 4, 3, 2], True),
        ([5, 4, 3], False),  # two steps say nothing
        ([1, 2, 3, 4], False),
        ([9, 8, 7, 6, 5, 6], True),  # processes do not write quite in order
        ([5, 4, 5, 4, 5, 4, 3], False),
        ([], False),
    ],
)  # fmt: skip
def test_it_is_told_by_the_times_of_records(minutes: list[int], newest_first: bool) -> None:
    text = b"a line of nobody\n".join(RECORD % minute for minute in minutes)
    assert is_newest_first(text, GRAMMAR) is newest_first


def test_no_labelled_log_is_taken_for_one() -> None:
    assert [case.id for case in CASES if is_newest_first(log(case), GRAMMAR)] == []


def test_from_its_end_it_says_the_same_of_the_same_lines() -> None:
    given = reversed_(KIMI)
    assert is_newest_first(given, GRAMMAR)
    turned = Turned([given[:1000], given[1000:]])
    read = [
        diagnose_log([text], grammar=GRAMMAR, known=Known(), patches=PATCHES) for text in (KIMI, turned.whole)
    ]
    assert read[0] == read[1]
    cause = read[1].root_cause
    assert cause is not None and cause.line is not None
    quoted = given.splitlines()[turned.line_of(cause.line) - 1]
    assert cause.text.encode().split(b"\n")[0][:60] in quoted
