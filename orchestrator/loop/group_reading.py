"""What can be asked of hosts that serve one model together without changing anything there?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from orchestrator.base.errors import DeployError
from orchestrator.group.group import Absent
from orchestrator.loop.reading import Explained, Reading
from orchestrator.loop.side_by_side import side_by_side
from orchestrator.programs.journal import JournalRecord
from orchestrator.survey.group_status import group_status

if TYPE_CHECKING:
    from orchestrator.diagnosis.across import JointDiagnosis

FAILED = ("fault", "unknown_fault")


def status(readings: Sequence[Reading], absent: Sequence[Absent]) -> dict[str, Any]:
    """How they are now, those that do not answer too."""
    hosts = [*side_by_side([partial(_stands, reading) for reading in readings]), *map(_unasked, absent)]
    job = readings[0].job
    order = {name: number for number, name in enumerate(job.group)}
    hosts.sort(key=lambda host: order.get(host["host"], 0))
    return group_status(job.name, job.playbook.name, hosts)


def histories(readings: Sequence[Reading], absent: Sequence[Absent]) -> dict[str, tuple[JournalRecord, ...]]:
    """What was done on each of them, and what keeps others from telling it as a warning."""
    journals = side_by_side([reading.history for reading in readings])
    for host in absent:
        readings[0].job.report.of_all.emit("warning", host.error.message)
    return {reading.job.host.name: own for reading, own in zip(readings, journals, strict=True)}


def explain(
    readings: Sequence[Reading], absent: Sequence[Absent], *, launch: int | None
) -> tuple[dict[str, Explained], JointDiagnosis]:
    """What the log of each host that has one comes to, and all of them together; what keeps others from it is told as a warning.

    Raises UsageError("no_launch") where none has any.
    """
    from orchestrator.diagnosis.across import Account, judge

    def own(reading: Reading) -> Explained | DeployError:
        try:
            return reading.explain(launch=launch)
        except DeployError as error:
            return error

    ends = side_by_side([partial(own, reading) for reading in readings])
    there = {reading: end for reading, end in zip(readings, ends, strict=True) if isinstance(end, Explained)}
    lacking = [*(end for end in ends if isinstance(end, DeployError)), *(host.error for host in absent)]
    if not there:
        raise lacking[0]
    for error in lacking:
        readings[0].job.report.of_all.emit("warning", error.message)
    several = sum(each.diagnosis.verdict in FAILED for each in there.values()) > 1
    accounts = [
        Account(each.diagnosis, reading.written(each) if several else None, gone=each.gone)
        for reading, each in there.items()
    ]
    joint = judge(accounts, readings[0].job.playbook.kind.log)
    return {reading.job.host.name: each for reading, each in there.items()}, joint


def logs(
    readings: Sequence[Reading],
    absent: Sequence[Absent],
    *,
    launch: int | None,
    lines: int | None,
    follow: bool,
) -> dict[str, Iterator[bytes]]:
    """The log of each host that has one, byte for byte, and what keeps others from it as a warning.

    Raises UsageError("no_launch") where none has any.
    """
    there: dict[str, Iterator[bytes]] = {}
    lacking = [host.error for host in absent]
    for reading in readings:
        try:
            there[reading.job.host.name] = reading.logs(launch=launch, lines=lines, follow=follow)
        except DeployError as error:
            lacking.append(error)
    if not there:
        raise lacking[-1]
    for each in lacking:
        readings[0].job.report.of_all.emit("warning", each.message)
    return there


def _stands(reading: Reading) -> dict[str, Any]:
    try:
        stands = reading.status()
        return {"role": (stands["group"] or {}).get("role", reading.role), **stands}
    except DeployError as error:
        return _unasked(Absent(reading.job.host.name, reading.role, error))


def _unasked(absent: Absent) -> dict[str, Any]:
    error = {"code": absent.error.code, "message": absent.error.message}
    return {"host": absent.host, "role": absent.role, "error": error}
