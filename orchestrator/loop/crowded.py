"""Does memory that others hold of the cards come back within seconds, so that nothing has to be refused for it?"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from orchestrator.loop.reading import Reading
from orchestrator.steps.course import Course

PAUSE_SECONDS = 5.0
"""Who is ending gives its memory back in less; one in which nothing came back is the last."""
LONGEST_SECONDS = 60.0


def waited_for(
    readings: Sequence[Reading], planned: list[Course], again: Callable[[], list[Course]]
) -> list[Course]:
    """What is planned once who was just ending is gone; where memory of the cards is all that forbids it. `again` plans anew."""
    waited = 0.0
    while waited < LONGEST_SECONDS and _only_crowded(planned):
        crowded = [reading for reading, own in zip(readings, planned, strict=True) if own.refusals]
        with crowded[0].job.report.wait(
            "look at", "the GPUs, whose memory others hold", limit=LONGEST_SECONDS
        ):
            time.sleep(PAUSE_SECONDS)
        waited += PAUSE_SECONDS
        before = _held(planned)
        for reading in crowded:
            reading.look_anew()
        planned = again()
        if _held(planned) >= before:
            break
    return planned


def _only_crowded(planned: Sequence[Course]) -> bool:
    return {refusal.code for own in planned for refusal in own.refusals} == {"gpu_busy"}


def _held(planned: Sequence[Course]) -> int:
    """MiB in use on all cards of the hosts."""
    return sum(card.memory_used_mib or 0 for own in planned for card in own.plan.survey.facts.cards)
