"""Several hosts are driven at once; the first error is told when all have ended."""

from __future__ import annotations

import threading

import pytest

from orchestrator.loop.side_by_side import side_by_side


def test_one_call_is_made_here() -> None:
    assert side_by_side([threading.current_thread]) == [threading.current_thread()]


def test_several_are_under_way_together_and_answer_in_their_order() -> None:
    met = threading.Barrier(3, timeout=30.0)

    def meet(number: int) -> int:
        met.wait()
        return number

    assert side_by_side([lambda number=number: meet(number) for number in range(3)]) == [0, 1, 2]  # type: ignore[misc]


def test_the_first_error_lets_the_others_end_and_is_raised() -> None:
    halted = threading.Event()
    ends: list[str] = []

    def fail() -> None:
        raise ValueError("first")

    def follow() -> None:
        assert halted.wait(30.0)
        ends.append("ended")
        raise ValueError("second")

    with pytest.raises(ValueError, match="first"):
        side_by_side([follow, fail], halted.set)
    assert ends == ["ended"]
