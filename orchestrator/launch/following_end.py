"""How did the following of a launch end where no completion came out of it?"""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.launch.ended import of_its_own
from orchestrator.launch.watch import Seen
from orchestrator.programs.smoke import Completion


@dataclass(frozen=True)
class FollowingEnd:
    """How the following of a launch ended without a completion. `answer` is of the last completion that was asked for,
    `asked` how many were of a server that was up, `idle_seconds` how long there had been no sign of life."""

    seen: Seen
    answer: Completion | None = None
    asked: int = 0
    idle_seconds: float | None = None

    @property
    def lives(self) -> bool:
        """Whether its processes live, and nothing says that they are done for."""
        return self.seen.state in ("late", "hanging")

    @property
    def by_itself(self) -> bool:
        """Whether the engine ended by an error of its own: its exit status says so, or its last answer to us (HTTP 5xx).

        vLLM's API server shuts down in good order after its engine died, and may then leave 0.
        """
        status = self.answer.status if self.answer is not None else None
        failed = status is not None and status >= 500
        return self.seen.state == "exited" and (failed or of_its_own(self.seen.exit_code))

    @property
    def ended_from_outside(self) -> bool:
        """Whether it is gone, and nothing says that it ended itself."""
        return self.seen.state == "exited" and not self.by_itself
