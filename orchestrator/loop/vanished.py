"""Which hosts of a group are gone while the others go on, and what becomes of the launches on those?

A lost connection alone ends nothing: the host may be well, and the same command resumes. A host that takes no new connection either,
while others of its group answer, has lost power or network, and its ranks are lost to the others, which wait for them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

from orchestrator.base.errors import DeployError, HostError
from orchestrator.loop.acting import Acting
from orchestrator.loop.reading import Reading
from orchestrator.loop.side_by_side import side_by_side
from orchestrator.loop.together import Together
from orchestrator.programs.ask import ask
from orchestrator.programs.leftovers import Leftovers

ANSWER_SECONDS = 10.0


def end_the_rest(
    readings: Sequence[Reading], lost: HostError, acting: Callable[[Reading], Acting]
) -> HostError:
    """What is raised instead of `lost`: where hosts of a group are gone and others are not, the launches on those are ended.

    `acting` gives what changes one host, with the lock of that host alone.
    """
    if len(readings) == 1:
        return lost
    there = side_by_side([partial(_answers, reading) for reading in readings])
    gone = [reading for reading, answers in zip(readings, there, strict=True) if not answers]
    rest = [reading for reading, answers in zip(readings, there, strict=True) if answers]
    if not gone or not rest:
        return lost
    words = f"{_named(gone)} does not answer any more"
    try:
        Together([acting(reading) for reading in rest]).end()
    except DeployError as error:
        return HostError(
            "host_vanished", f"{words}; what it left on the others could not be ended: {error.message}"
        )
    return HostError("host_vanished", f"{words}; what waited for it is ended on {_named(rest)}")


def _answers(reading: Reading) -> bool:
    job = reading.job
    with suppress(DeployError):
        ask(job.host, Leftovers(instance=job.name), deadline=ANSWER_SECONDS)
        return True
    if job.reopen is None:
        return True  # nobody can tell
    with suppress(DeployError), job.reopen():
        return True
    return False


def _named(readings: Sequence[Reading]) -> str:
    return ", ".join(f"{reading.role} on {reading.job.host.name}" for reading in readings)
