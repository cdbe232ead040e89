"""Hosts wait for each other where a stage begins, and for none that has nothing left to do."""

from __future__ import annotations

import threading

import pytest

from orchestrator.base.errors import Halted
from orchestrator.loop.barriers import Barriers, alone
from orchestrator.plan.plan import make_plan
from orchestrator.steps.step import Stage
from tests.jobs import job
from tests.surveys import survey


def test_who_is_alone_waits_for_nobody() -> None:
    stride = alone()
    stride.come_to(Stage.LAUNCH)
    assert stride.all_at(Stage.LAUNCH)


def test_nobody_goes_on_before_all_have_come_as_far() -> None:
    first, second = Barriers(2).strides
    first.come_to(Stage.LAUNCH)
    assert not first.all_at(Stage.LAUNCH)
    second.come_to(Stage.COMPLETION)  # it follows a launch that was there before
    assert first.all_at(Stage.LAUNCH)
    assert not second.all_at(Stage.COMPLETION)


def test_a_list_that_begins_anew_is_waited_for_again_and_one_that_ended_is_not() -> None:
    first, second = Barriers(2).strides
    for stride in (first, second):
        stride.come_to(Stage.LAUNCH)
    second.begin()
    assert not first.all_at(Stage.LAUNCH)
    second.end()
    first.come_to(Stage.COMPLETION)
    assert first.all_at(Stage.COMPLETION)


def test_what_hosts_bring_is_there_for_all_until_they_begin_anew() -> None:
    first, second = Barriers(2).strides
    plan = make_plan("gpu7", job().playbook, survey(), job().wishes)
    second.bring("b", plan)
    first.bring("a", plan)
    assert list(first.plans) == list(second.plans) == ["a", "b"]
    second.begin()
    assert list(first.plans) == ["a"]


def test_who_waits_is_woken_by_a_halt() -> None:
    barriers = Barriers(2)
    ends: list[str] = []

    def wait() -> None:
        try:
            while not barriers.all_at(Stage.LAUNCH, 60.0):
                ends.append("late")
        except Halted:
            ends.append("halted")

    waiting = threading.Thread(target=wait)
    waiting.start()
    barriers.halt()
    waiting.join()
    assert ends == ["halted"]
    with pytest.raises(Halted):
        barriers.strides[1].proceed()


def test_a_group_stands_still_where_each_host_does_or_has_nothing_left_to_do() -> None:
    first, second, third = Barriers(3).strides
    third.end()
    assert not first.all_still(True)
    assert second.all_still(True)
    assert first.all_still(True)
    second.begin()
    assert not first.all_still(True)
    assert alone().all_still(True)
    assert not alone().all_still(False)
