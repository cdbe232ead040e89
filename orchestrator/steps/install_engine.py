"""Which engine is installed on the host, and where?"""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.playbook.pinned import PinnedEngine
from orchestrator.steps.step import Effects, Onward, Step, Work


@dataclass(frozen=True)
class InstallEngine(Step):
    """Make an environment with the pinned engine in it: only with the consent install-engine."""

    name = "install"
    pinned: PinnedEngine

    @property
    def effects(self) -> Effects:
        made = f"make an environment with {self.pinned} in {self.pinned.folder}, by uv; no other Python is touched"
        known_then = "what is installed is looked at, and what follows is planned anew from it"
        return Effects((made,), files=(self.pinned.folder,), network_bytes=None, depends=known_then)

    def do(self, work: Work) -> Onward:
        from orchestrator.install.follow import install

        work.require()
        install(work.job, self.pinned, work.proceed)
        return "installed"
