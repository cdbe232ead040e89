"""What is under way on each host, for how long, and how long may it still take? Pure but for its clock."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from orchestrator.base.amounts import rounded
from orchestrator.base.events import Event
from orchestrator.report.layout import fraction


@dataclass
class Going:
    """One step or wait under way; times are those of the clock."""

    host: str
    step: str
    text: str
    started: float
    limit: float | None
    eta: float | None = None
    eta_at: float = 0.0
    part: float | None = None

    def elapsed(self, now: float) -> float:
        return max(0.0, now - self.started)

    def ahead(self, now: float) -> str:
        """How long it may take: what the work itself estimates, or the limit, or nothing where neither is known."""
        if self.eta is not None:
            return f"eta {rounded(max(1.0, self.eta - (now - self.eta_at)))}"
        if self.limit is not None:
            return f"at most {rounded(self.limit)}"
        return ""

    @property
    def phase(self) -> str:
        """The text without its counters: what changes when something else is waited for."""
        return re.sub(r"[\d.,/]+( [kMGT]?B)?", "#", self.text)


class CurrentSteps:
    """Follows events; of each host the innermost step that is under way counts."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._going: dict[str, list[Going]] = {}

    def take(self, event: Event) -> None:
        going = self._going.setdefault(event.host, [])
        now = self._clock()
        if event.kind in ("step", "wait"):
            if event.data["state"] == "started":
                going.append(Going(event.host, event.step, event.text, now, event.data.get("limit")))
            else:
                going[:] = [step for step in going if step.step != event.step]
        elif event.kind == "progress":
            for step in going:
                if step.step == event.step:
                    self._further(step, event, now)

    def _further(self, step: Going, event: Event, now: float) -> None:
        step.text = event.text or step.text
        if "waited" in event.data and "eta" not in event.data:  # only says that nothing changed
            return
        eta = event.data.get("eta")
        step.part = fraction(event.data)
        step.eta, step.eta_at = (None if eta is None or step.part == 1.0 else float(eta)), now

    def of(self, host: str) -> Going | None:
        going = self._going.get(host)
        return going[-1] if going else None

    def all(self) -> list[Going]:
        """One a host, in the order in which the hosts were first heard of."""
        return [going[-1] for going in self._going.values() if going]
