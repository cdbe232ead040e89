"""Which engine is installed on the host, and where?"""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.install.installation import Installation
from orchestrator.steps.step import Effects, Onward, Step, Work


@dataclass(frozen=True)
class InstallEngine(Step):
    """Make an environment with the pinned engine in it: only with the consent install-engine."""

    name = "install"
    installation: Installation

    @property
    def effects(self) -> Effects:
        known_then = "what is installed is looked at, and what follows is planned anew from it"
        folder = self.installation.pinned.folder
        return Effects(self.installation.words, files=(folder,), network_bytes=None, depends=known_then)

    def do(self, work: Work) -> Onward:
        from orchestrator.install.follow import install

        work.require()
        job = work.job
        install(job.host, job.report, self.installation, instance=job.name, proceed=work.proceed)
        return "installed"
