"""Which hosts of a group give each other the checkpoint?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from orchestrator.group.ways import CheckpointWay, Want, ways
from orchestrator.loop.reading import Reading
from orchestrator.steps.course import Course
from orchestrator.steps.download import Download
from orchestrator.steps.step import Step

if TYPE_CHECKING:
    from orchestrator.download.exchange import CheckpointExchange


def arranged(readings: Sequence[Reading], planned: Sequence[Course]) -> list[Course]:
    """The lists, each download in them with the way by which its files come; those that are planned later go the same way."""
    wants = [want for each in zip(readings, planned, strict=True) if (want := _want(*each)) is not None]
    by_host = ways(wants)
    exchange = _exchange(by_host, wants, readings, planned) if by_host else None
    for reading in readings:
        reading.exchange = exchange
    return [
        replace(own, steps=tuple(_by(by_host.get(reading.job.host.name), step) for step in own.steps))
        for reading, own in zip(readings, planned, strict=True)
    ]


def _exchange(
    by_host: Mapping[str, CheckpointWay],
    wants: Sequence[Want],
    readings: Sequence[Reading],
    planned: Sequence[Course],
) -> CheckpointExchange:
    from orchestrator.download.exchange import CheckpointExchange, ExchangeHost

    addresses = {want.host: want.address for want in wants}
    hosts = {}
    for reading, own in zip(readings, planned, strict=True):
        job, there = reading.job, own.plan.survey.checkpoint
        if job.host.name in addresses:
            hosts[job.host.name] = ExchangeHost(
                job.host, job.name, addresses[job.host.name], there.folder, there.manifest
            )
    return CheckpointExchange(by_host, hosts)


def _want(reading: Reading, own: Course) -> Want | None:
    playbook = reading.job.playbook
    repository, node = playbook.model.repository, playbook.node
    if repository is None or node is None or playbook.checkpoint.source == "hub":
        return None
    return Want(
        reading.job.host.name,
        node.address,
        repository,
        playbook.model.revision,
        tuple(playbook.checkpoint.ignore),
        any(isinstance(step, Download) and step.lacking for step in own.steps),
        own.plan.survey.checkpoint.manifest,
    )


def _by(way: CheckpointWay | None, step: Step) -> Step:
    return replace(step, way=way) if isinstance(step, Download) else step
