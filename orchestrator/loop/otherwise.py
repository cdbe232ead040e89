"""Does a launch on one of these hosts serve already, but not with all of them?"""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.base.errors import PreflightRefused
from orchestrator.loop.reading import Reading
from orchestrator.steps.course import Course


def serves(readings: Sequence[Reading], planned: Sequence[Course]) -> Reading | None:
    """The first host whose launch goes on with fewer hosts than these or alone, and would be ended, by what each would do by itself:
    none is left as it is where another is started."""
    if len(readings) == 1 or not any(own.starts for own in planned):
        return None
    return next(
        (
            reading
            for reading, own in zip(readings, planned, strict=True)
            if own.plan.survey.observed.alive
            and not own.starts
            and len(_beside(reading)) + 1 != len(readings)
        ),
        None,
    )


def refusal(reading: Reading, hosts: int) -> PreflightRefused:
    """Who asks that a model comes up has not asked that one is ended which serves."""
    beside = _beside(reading)
    now = f"with {', '.join(beside)}" if beside else "alone"
    return PreflightRefused(
        "serves_otherwise",
        f"{reading.job.host.name}: {reading.job.name} serves there {now}. It is not ended unless somebody says so: "
        f"restart ends it, and starts it anew on {hosts} hosts",
    )


def _beside(reading: Reading) -> tuple[str, ...]:
    own = reading.membership
    return tuple(host for number, host in enumerate(own.hosts) if number != own.rank) if own else ()
