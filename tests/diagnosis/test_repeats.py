"""Which lines of a progress bar are said again by the next one."""

from __future__ import annotations

import pytest

from orchestrator.diagnosis.repeats import Repeats

WORD = {7: b"Capturing"}


def counting(*before: bytes) -> Repeats:
    repeats = Repeats()
    for each in before:
        repeats.learn((7,), each + b"Capturin")
    return repeats


@pytest.mark.parametrize(
    ("block", "last"),
    [
        (b"Capturing 1\nnothing\nCapturing 2\nnothing\n", b"Capturing 2\n"),
        (b"(W1) Capturing 1\nCapturing 2\n(W22) Capturing 3\n", b"(W22) Capturing 3\n"),
        (b"nothing\n", None),
    ],
)
def test_lines_of_a_block_that_count_the_same_are_taken_together(block: bytes, last: bytes | None) -> None:
    repeats = counting(b"", b"(W0) ")
    for _ in range(2):  # the second time by what stood before the word the first time
        assert repeats.takes_all(WORD, block, 0, len(block))
        taken = repeats.take_last()
        assert (block[slice(*taken)] if taken else None) == last
    assert repeats.take_last() is None


@pytest.mark.parametrize(
    "other", [b"x Capturing 1\n", b"Capturing, Capturing 1\n", b"(W0) x Capturing 1\n", b"\0Capturing\n"]
)
def test_none_is_taken_where_one_of_them_says_it_otherwise(other: bytes) -> None:
    repeats = counting(b"(W0) ", b"")
    usual = b"(W0) Capturing 1\n" * 3
    assert repeats.takes_all(WORD, usual, 0, len(usual)) and repeats.take_last()
    for block in (usual + other, other + usual):
        assert not repeats.takes_all(WORD, block, 0, len(block))
        assert repeats.take_last() is None
    assert repeats.takes_all(WORD, other + usual, len(other), len(other + usual))


def test_nothing_is_known_of_another_launch() -> None:
    repeats = counting(b"")
    assert repeats.takes_all(WORD, b"Capturing\n", 0, 10)
    repeats.forget()
    assert repeats.take_last() is None
    assert not repeats.takes_all(WORD, b"Capturing\n", 0, 10)
