"""What is put together of a failed launch for whoever looks into it?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from orchestrator.base import bundle
from orchestrator.job import Job
from orchestrator.launch.failure import Failure
from orchestrator.plan.plan import Plan
from orchestrator.programs.stacks import DumpFile


def packed(
    job: Job, plan: Plan, failure: Failure, log: Iterable[bytes], dumps: Iterable[DumpFile] = ()
) -> Path:
    """Write its log with facts, plan, diagnosis and the stacks that its processes dumped into a bundle on this machine. Raises
    UsageError where that cannot be."""
    documents = {
        "facts": asdict(plan.survey.facts),
        "plan": plan.as_json(),
        "diagnosis": failure.diagnosis.model_dump(mode="json"),
    }
    name = f"{job.name}-{job.host.name}-launch{failure.launch}"
    files = {dump.name: dump.text for dump in dumps}
    return bundle.write(name, log, documents, log_name=job.playbook.kind.log_name, files=files)
