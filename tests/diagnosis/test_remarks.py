"""Lines that patches look for, by the expression that they fit."""

from __future__ import annotations

from orchestrator.diagnosis.lines import Line, parse
from orchestrator.diagnosis.remarks import Remarks, Watched
from orchestrator.engines.vllm.log.grammar import GRAMMAR

BOTH = Watched(["NCCL WARN", "no socket", "NCCL WARN"])


def line(text: str, number: int) -> Line:
    return parse(text.encode(), number, GRAMMAR)


def fed(*texts: str) -> Remarks:
    remarks = Remarks(BOTH)
    for number, text in enumerate(texts, 1):
        remarks.feed(line(text, number))
    return remarks


def numbers(remarks: Remarks) -> dict[str, list[int]]:
    return {pattern: [line.number for line in lines] for pattern, lines in remarks.lines.items()}


def test_a_line_counts_for_each_expression_that_it_fits() -> None:
    assert BOTH.patterns == ("NCCL WARN", "no socket")
    remarks = Remarks(BOTH)
    assert remarks.feed(line("NCCL WARN no socket", 1))
    assert not remarks.feed(line("nothing", 2))
    assert remarks.feed(line("NCCL WARN again", 3))
    assert numbers(remarks) == {"NCCL WARN": [1, 3], "no socket": [1]}


def test_the_first_lines_are_kept_and_later_ones_still_noticed() -> None:
    remarks = fed(*["NCCL WARN"] * 100)
    assert numbers(remarks) == {"NCCL WARN": [*range(1, 17)]}
    assert remarks.feed(line("NCCL WARN", 101))


def test_the_next_launch_takes_over_what_was_said_after_the_end_of_the_last() -> None:
    earlier = fed("NCCL WARN", "no socket", "x", "NCCL WARN")
    taken = Remarks(BOTH)
    taken.take_over(earlier, after=2)
    assert numbers(taken) == {"NCCL WARN": [4]}
    nothing = Remarks(BOTH)
    nothing.take_over(earlier, after=0)
    assert numbers(nothing) == {}
