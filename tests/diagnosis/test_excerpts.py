"""What is left of a log that ended badly, or what its lines were mixed with, is never called a start."""

from __future__ import annotations

import random
import re
import zlib

import pytest

from orchestrator.diagnosis.engine import diagnose_log
from orchestrator.diagnosis.verdict import Diagnosis
from tests.diagnosis.labels import CASES, Case, expected, grammar_of, known_of, log
from tests.diagnosis.test_cases import PATCHES

FAILED = [case for case in CASES if expected(case)["verdict"] in ("fault", "unknown_fault")]
SOME = [case for case in FAILED if zlib.crc32(case.id.encode()) % 32 == 5]
"""Some, that stay the same as others are added."""
RANK = re.compile(rb"\((?:Worker|EngineCore|APIServer)\w* (?:pid|rank)=\d+[^)]*\)")
JITTER = 6
"""Places by which a line of one process comes later than it was written."""


def judged(case: Case, text: bytes) -> Diagnosis:
    return diagnose_log([text], grammar=grammar_of(case), known=known_of(expected(case)), patches=PATCHES)


def answer(found: Diagnosis) -> tuple[str, str | None]:
    return found.verdict, found.finding.patch if found.finding else None


@pytest.mark.parametrize("case", SOME, ids=lambda case: case.id)
def test_a_log_that_is_cut_at_any_byte_behind_its_cause_has_failed(case: Case) -> None:
    text = log(case)
    whole = judged(case, text)
    assert whole.root_cause is not None
    last = max([whole.root_cause.line, *(evidence.line for evidence in whole.evidence)])
    behind = sum(len(line) + 1 for line in text.split(b"\n")[:last])
    draw = random.Random(case.id)
    for cut in sorted(draw.sample(range(behind, len(text) + 1), min(6, len(text) + 1 - behind))):
        assert judged(case, text[:cut]).verdict in ("fault", "unknown_fault"), cut


@pytest.mark.parametrize("case", SOME, ids=lambda case: case.id)
def test_a_log_whose_lines_were_written_twice_says_the_same(case: Case) -> None:
    twice = b"".join(line + b"\n" + line + b"\n" for line in log(case).split(b"\n"))
    assert answer(judged(case, twice)) == answer(judged(case, log(case)))


LOST = 0.05
"""A share of them: where nobody's line comes between the first and the second line of a message, its second is lost."""


def test_processes_that_write_in_another_order_say_the_same() -> None:
    wholes = {case: judged(case, log(case)) for case in SOME}
    # what is told by a line alone is judged by where it stands
    raised = [case for case, whole in wholes.items() if whole.root_cause and whole.root_cause.exception]
    other = [case.id for case in raised if answer(judged(case, mixed(case))) != answer(wholes[case])]
    assert len(other) <= LOST * len(raised), other


def mixed(case: Case) -> bytes:
    """A log in which the lines of each process come some places later than they were written, in their order."""
    draw, place, ordered = random.Random(case.id), {}, []
    for number, line in enumerate(log(case).split(b"\n")):
        process = named[0] if (named := RANK.search(line)) else b""
        place[process] = max(place.get(process, 0.0), number + (draw.random() * JITTER if process else 0.0))
        ordered.append((place[process], number, line))
    return b"\n".join(line for _, _, line in sorted(ordered))
