"""What do the hosts of a group agree on where nobody said how their model is launched?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from orchestrator.base.data_folders import data_folders
from orchestrator.loop.reading import Reading
from orchestrator.loop.side_by_side import side_by_side
from orchestrator.models.choose_together import choose_together, fewest
from orchestrator.models.hardware import profile_of
from orchestrator.on_host.checkpoint.configs import CONFIG


def agree(readings: Sequence[Reading]) -> None:
    """Have each of them planned by what is chosen for all: each for itself would choose by its own cards.

    Where neither the Hub nor every host says what the model is, planning says so, and nothing is chosen.
    """
    job = readings[0].job
    if not job.group or not all(reading.job.playbook.choose for reading in readings):
        return
    surveys = dict(
        zip(
            (reading.job.host.name for reading in readings),
            side_by_side([reading.survey for reading in readings]),
            strict=True,
        )
    )
    unknown = job.published is None and job.playbook.source is None
    if unknown and any(CONFIG not in survey.checkpoint.configs for survey in surveys.values()):
        return
    profile = profile_of(surveys[fewest(surveys)], data_folders("profiles"))
    choices = choose_together(job.playbook, job.spread, job.published, surveys, job.wishes, profile)
    values = {choice.key: choice.value for choice in choices}
    for reading in readings:
        reading.job = replace(
            reading.job, playbook=reading.job.playbook.completed(values), spread=tuple(choices)
        )
