"""How is the making of an environment on the host started, joined and followed to its end?"""

from __future__ import annotations

from collections.abc import Callable

from orchestrator.base.errors import DeployError
from orchestrator.install.failure import failure
from orchestrator.job import Job
from orchestrator.playbook.pinned import PinnedEngine
from orchestrator.programs.ask import ask
from orchestrator.programs.errand import FailedErrand, standings
from orchestrator.programs.install_engine import (
    InstalledNow,
    InstallProgress,
    InstallStatus,
    StartInstall,
)

PYPI = "https://pypi.org/simple"


def install(job: Job, pinned: PinnedEngine, proceed: Callable[[], None] = lambda: None) -> InstalledNow:
    """Make the environment; one that is being made, for whichever deployment, is waited for.

    Interrupting this leaves the host at it, and so does `proceed` where it raises. Raises PreflightRefused with the reason.
    """
    host, kind, indexes = job.host, job.playbook.kind, job.playbook.engine.index

    def failed(code: str, message: str) -> DeployError:
        index = (indexes or (PYPI,))[0].rstrip("/")
        return failure(code, message, pinned, host.name, room=first.room, index=index)

    with job.report.step("install", f"{pinned} into {pinned.folder}") as step:
        first = ask(
            host,
            StartInstall(
                instance=job.name,
                engine=pinned.name,
                version=pinned.version,
                module=kind.package.module,
                pythons=kind.distribution.pythons,
                left_out=kind.distribution.left_out.get(pinned.name, ()),
                pages=kind.distribution.pages.get(pinned.name, ()),
                indexes=indexes,
            ),
            deadline=60.0,
        )
        status, shown = InstallStatus(engine=pinned.name, version=pinned.version), ""
        for answer in standings(first, lambda: ask(host, status), proceed):
            line = answer.last
            if isinstance(line, FailedErrand):
                raise failed(line.error.code, line.error.message)
            if isinstance(line, InstalledNow) and not answer.goes_on:
                there = "" if line.made else ", was there"
                step.done = f"{pinned.name} {line.version} on Python {line.python}{there}"
                step.data = {"engine": pinned.name, "version": line.version, "made": line.made}
                return line
            if isinstance(line, InstallProgress) and line.line != shown:
                shown = line.line
                step.progress(f"{line.phase}: {line.line}", phase=line.phase)
        raise failed("install_failed", f"the installation ended without a word; see {first.room}")
