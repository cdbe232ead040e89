"""Which stacks have the processes of a launch left on its host, that may say what it waits for now?"""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.diagnosis.stacks import Stack, of_files
from orchestrator.job import Job
from orchestrator.programs.ask import ask
from orchestrator.programs.stacks import DumpFile, ReadStacks

SERVING_SECONDS = 900.0
"""How old those of a server may be: one that goes on after it got stuck once takes nothing back."""


def left(job: Job, launch: int, *, served: bool = False) -> tuple[DumpFile, ...]:
    """The files with stacks in the launch's folder; of one that `served` only those that were written lately."""
    names = job.playbook.kind.dumps
    if names is None:
        return ()
    files = ask(job.host, ReadStacks(instance=job.name, launch=launch, names=names)).files
    return tuple(file for file in files if not served or file.age_seconds <= SERVING_SECONDS)


def stacks(files: Iterable[DumpFile], job: Job) -> tuple[Stack, ...]:
    """Where the processes stand by them."""
    return of_files(((file.name, file.text) for file in files), job.playbook.kind.log.dumps)
