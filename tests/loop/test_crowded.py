"""Who is just ending is waited for before a launch is refused for its memory."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.base.errors import PreflightRefused
from orchestrator.facts.gpus import Gpus
from orchestrator.loop import crowded
from orchestrator.loop.reading import Reading
from orchestrator.plan.plan import make_plan
from orchestrator.steps.course import Course, course
from tests.jobs import Answering, Told, job
from tests.surveys import cards, knowing, survey


class Looking(Reading):
    """Knows how often the host is to be looked at anew."""

    looked = 0

    def look_anew(self) -> None:
        self.looked += 1


def holding(mib: int) -> Course:
    """A list for a host of which somebody holds so much on GPU3."""
    asked = job()
    gpus = tuple(replace(card, memory_used_mib=mib) if card.index == 3 else card for card in cards().gpus)
    found = knowing(survey(), gpus=Gpus(gpus), gpu_processes=())
    return course(asked, make_plan("gpu7", asked.playbook, found, asked.wishes), "up")


@pytest.mark.parametrize(
    ("used", "pauses", "refused"),
    [
        ([2], 0, False),
        ([60_000, 2], 1, False),
        ([60_000, 60_000], 1, True),  # it keeps it
        ([90_000, 60_000, 30_000, 2], 3, False),
        ([90_000, 60_000, 60_000], 2, True),
        ([90_000 - 1000 * number for number in range(20)], 12, True),
    ],
)
def test_it_is_waited_as_long_as_memory_comes_back(
    used: list[int], pauses: int, refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    monkeypatch.setattr(crowded.time, "sleep", slept.append)
    lists = [holding(mib) for mib in used]
    told = Told()
    reading = Looking(job(Answering(), told))
    (planned,) = crowded.waited_for([reading], [lists.pop(0)], lambda: [lists.pop(0)])
    assert (slept, reading.looked) == ([5.0] * pauses, pauses)
    assert bool(planned.refusals) == refused
    assert bool(told.events) == bool(pauses)


def test_what_is_refused_for_something_else_too_is_not_waited_for() -> None:
    busy = holding(60_000)
    both = replace(
        busy, refusals=(*busy.refusals, PreflightRefused("port_taken", "gpu7: port 8000 is taken"))
    )
    assert crowded.waited_for([Looking(job())], [both], lambda: pytest.fail("looked")) == [both]
