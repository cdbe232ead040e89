"""What is put together of a failed launch for whoever looks into it?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.base import bundle
from orchestrator.base.bundle import Contents
from orchestrator.job import Job
from orchestrator.launch.failure import Failure
from orchestrator.plan.plan import Plan
from orchestrator.programs.stacks import DumpFile

if TYPE_CHECKING:
    from orchestrator.diagnosis.verdict import Diagnosis


def packed(
    job: Job, plan: Plan, failure: Failure, log: Iterable[bytes], dumps: Iterable[DumpFile] = ()
) -> Path:
    """Write its log with facts, plan, diagnosis and the stacks that its processes dumped into a bundle on this machine. Raises
    UsageError where that cannot be."""
    part = part_of(job, plan, log, failure.diagnosis, dumps)
    return bundle.write(f"{job.name}-{job.host.name}-launch{failure.launch}", part)


def packed_together(name: str, launch: int, parts: Sequence[Contents]) -> Path:
    """The same of a launch on several hosts, a folder for each."""
    return bundle.write(f"{name}-{len(parts)}-hosts-launch{launch}", *parts)


def part_of(
    job: Job,
    plan: Plan,
    log: Iterable[bytes],
    diagnosis: Diagnosis | None,
    dumps: Iterable[DumpFile] = (),
    *,
    folder: str = "",
) -> Contents:
    """What one host has of it; `diagnosis` is None where nobody looked at its launch."""
    documents = {"facts": asdict(plan.survey.facts), "plan": plan.as_json()}
    if diagnosis is not None:
        documents["diagnosis"] = diagnosis.model_dump(mode="json")
    files = {dump.name: dump.text for dump in dumps}
    return Contents(log, documents, job.playbook.kind.log_name, files, folder)
