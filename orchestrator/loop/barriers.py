"""How far has each host of a group come, and does the group go on?"""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping

from orchestrator.base.errors import Halted
from orchestrator.plan.plan import Plan
from orchestrator.steps.step import Stage

LOOK_SECONDS = 0.25
"""How often a host that waits for others looks at what goes on meanwhile."""


class Barriers:
    """Hosts that wait for each other, each followed in a thread of its own."""

    def __init__(self, hosts: int) -> None:
        self._at: list[float] = [0] * hosts
        self._changed = threading.Condition()
        self._still = [False] * hosts
        self._halted = False
        self._plans: dict[int, tuple[str, Plan]] = {}
        self.fallen = False
        """Whether they go on no further since the launch of one of them has failed."""
        self.strides = tuple(Stride(self, number) for number in range(hosts))

    def halt(self) -> None:
        """Let nobody go on."""
        with self._changed:
            self._halted = True
            self._changed.notify_all()

    def fall(self) -> None:
        """Let nobody go on: a launch has failed."""
        self.fallen = True
        self.halt()

    def proceed(self) -> None:
        """Raise Halted where the group does not go on."""
        if self._halted:
            raise Halted

    def move(self, number: int, to: float) -> None:
        with self._changed:
            self._at[number] = to
            self._changed.notify_all()

    def all_still(self, number: int, still: bool) -> bool:
        """Whether that host stands still, and all others do or have nothing left to do."""
        self._still[number] = still
        return still and all(own or at == math.inf for own, at in zip(self._still, self._at, strict=True))

    def bring(self, number: int, host: str, plan: Plan | None) -> None:
        with self._changed:
            self._plans.pop(number, None)
            if plan is not None:
                self._plans[number] = host, plan

    @property
    def plans(self) -> Mapping[str, Plan]:
        """By what each host that has come to its launch would be launched."""
        with self._changed:
            return dict(plan for _, plan in sorted(self._plans.items(), key=lambda brought: brought[0]))

    def all_at(self, stage: Stage, seconds: float) -> bool:
        """Whether every host has come as far within so many seconds; raises Halted."""
        with self._changed:
            came = self._changed.wait_for(lambda: self._halted or min(self._at) >= stage, timeout=seconds)
        self.proceed()
        return came


class Stride:
    """One host's way along the barriers of its group."""

    def __init__(self, barriers: Barriers, number: int) -> None:
        self._barriers = barriers
        self._number = number
        self.proceed = barriers.proceed

    @property
    def fallen(self) -> bool:
        """Whether the group goes on no further since the launch of another host has failed."""
        return self._barriers.fallen

    @property
    def alone(self) -> bool:
        """Whether it is that of a host without others."""
        return len(self._barriers.strides) == 1

    def begin(self) -> None:
        """At the beginning of a list: whatever was reached before is not what the others wait for."""
        self.all_still(False)
        self._barriers.bring(self._number, "", None)
        self._barriers.move(self._number, 0)

    def all_still(self, still: bool) -> bool:
        """Whether this host stands still, and all others do or have nothing left to do."""
        return self._barriers.all_still(self._number, still)

    def bring(self, host: str, plan: Plan) -> None:
        """Say, before it comes to its launch, by which plan this host would be launched."""
        self._barriers.bring(self._number, host, plan)

    @property
    def plans(self) -> Mapping[str, Plan]:
        """What all hosts have brought, by their names."""
        return self._barriers.plans

    def come_to(self, stage: Stage) -> None:
        self._barriers.move(self._number, stage)

    def end(self) -> None:
        """Nothing is left to do: nobody waits for this host any more."""
        self._barriers.move(self._number, math.inf)

    def all_at(self, stage: Stage) -> bool:
        """Whether all have come as far; waits for a moment. Raises Halted."""
        return self._barriers.all_at(stage, LOOK_SECONDS)


def alone() -> Stride:
    """That of a host which waits for nobody."""
    return Barriers(1).strides[0]
