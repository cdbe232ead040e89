"""Several hosts are driven at once; the first error is told when all have ended."""

from __future__ import annotations

import threading
from functools import partial

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


def test_no_more_are_under_way_than_may_be() -> None:
    under_way, most = 0, 0
    counting = threading.Lock()
    pair = threading.Barrier(2, timeout=30.0)

    def work() -> int:
        nonlocal under_way, most
        with counting:
            under_way += 1
            most = max(most, under_way)
        pair.wait()  # two go on together, and never a third
        with counting:
            under_way -= 1
        return under_way

    assert len(side_by_side([work] * 6, at_once=2)) == 6
    assert most == 2
    assert side_by_side([], at_once=2) == []


def test_none_is_begun_after_an_error_where_they_take_turns() -> None:
    begun: list[int] = []

    def fail(number: int) -> None:
        begun.append(number)
        raise ValueError(str(number))

    with pytest.raises(ValueError, match="0"):
        side_by_side([partial(fail, number) for number in range(3)], at_once=1)
    assert begun == [0]


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
