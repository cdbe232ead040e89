"""What of the last launch is still there, and is ended before anything new is started?"""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.launch.server import GRACE_SECONDS, Server
from orchestrator.steps.step import Effects, Onward, Step, Work
from orchestrator.survey.observed import Observed

FAILED_GRACE_SECONDS = 1.0
"""Grace for an engine that has failed already: all that is left to do is to be gone."""


@dataclass(frozen=True)
class Clean(Step):
    """End the launch with all that belongs to it. `by_person`: that is what the command asks for, so that nothing of it is
    an incident any more; what serves is given time to end well. `anew`: a launch follows at once, and where none does it has fallen."""

    name = "clean"
    observed: Observed
    by_person: bool = False
    anew: bool = False

    @property
    def effects(self) -> Effects:
        members, held = self.observed.members, self.observed.shm.entries
        ended = f"end {len(members)} processes of launch {self.observed.launch}, remove its shared memory"
        return Effects(
            (ended,),
            files=(f"/dev/shm: {held} files",) if held else (),
            ends=tuple(f"pid {member.pid} ({member.name})" for member in members),
        )

    def do(self, work: Work) -> Onward | None:
        work.require()
        grace = GRACE_SECONDS if self.by_person else FAILED_GRACE_SECONDS
        Server(work.job).stop(grace_seconds=grace, by_person=self.by_person, anew=self.anew)
        return "launch" if self.by_person else None
