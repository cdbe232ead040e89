"""What serves on a host alone, or with fewer others, is not ended because it is to be brought up on more."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.loop.otherwise import refusal, serves
from orchestrator.loop.reading import Reading
from orchestrator.steps.course import Course, course
from orchestrator.survey.membership import Membership
from tests.jobs import job
from tests.steps.doing import plan
from tests.surveys import MEMBER, NEVER_LAUNCHED, survey

PAIR = ("gpu7", "gpu8")
SERVING = survey(
    observed=replace(NEVER_LAUNCHED, launch=1, alive=True, members=(MEMBER,)),
    journal=[
        {"action": "launch", "launch": 1},
        {"action": "outcome", "launch": 1, "result": "healthy", "cause": None, "finding": None},
    ],
)


def host(group: tuple[str, ...] | None, *, alive: bool = True) -> tuple[Reading, Course]:
    reading = Reading(job())
    reading.membership = Membership(group, 0, True) if group else None
    return reading, course(reading.job, plan(SERVING if alive else None), "up")


@pytest.mark.parametrize(
    ("group", "hosts", "now"),
    [(None, 2, "alone"), (PAIR, 3, "with gpu8"), (PAIR, 2, None)],
)
def test_what_serves_with_other_hosts(group: tuple[str, ...] | None, hosts: int, now: str | None) -> None:
    reading, own = host(group)
    free, starting = host(None, alive=False)
    assert starting.starts and not own.starts
    serving = serves([free, reading, *[free] * (hosts - 2)], [starting, own, *[starting] * (hosts - 2)])
    assert serving is (reading if now else None)
    if serving is not None and now:
        assert f"kimi-k2.5 serves there {now}." in refusal(serving, hosts).message


def test_nothing_is_in_the_way_where_nothing_is_started_or_one_host_is_named() -> None:
    reading, own = host(None)
    assert serves([reading, reading], [own, own]) is None
    assert serves([reading], [own]) is None
