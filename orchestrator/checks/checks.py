"""Which checks are there, in the order in which they are shown?"""

from __future__ import annotations

from collections.abc import Collection

from orchestrator.checks import (
    clock,
    disk,
    driver,
    engine,
    folders,
    gpu_memory,
    gpus,
    iommu,
    limits,
    links,
    machine,
    network,
    ports,
    runtimes,
)
from orchestrator.checks.check import Check, Grade
from orchestrator.facts.gather import Facts
from orchestrator.playbook.pinned import PinnedEngine

SUBJECTS = (
    gpus,
    gpu_memory,
    links,
    iommu,
    engine,
    driver,
    disk,
    folders,
    machine,
    limits,
    network,
    ports,
    runtimes,
    clock,
)
"""What an engine needs first comes first."""
WORST_FIRST: tuple[Grade, ...] = ("fail", "warn", "unknown", "pass")


def checks(
    facts: Facts, installs: PinnedEngine | None = None, ours: Collection[int] = ()
) -> tuple[Check, ...]:
    """Every check of a host; `installs` is the engine of our own that a deployment would install there, `ours` are the pids of its
    launch."""
    listed: list[Check] = []
    for subject in SUBJECTS:
        if subject is engine:
            listed += engine.check(facts, installs)
        else:
            listed += gpu_memory.check(facts, ours) if subject is gpu_memory else subject.check(facts)
    return tuple(listed)


def verdict(listed: tuple[Check, ...]) -> Grade:
    """The worst of them; nothing checked is nothing known."""
    verdicts = {check.verdict for check in listed}
    return next((word for word in WORST_FIRST if word in verdicts), "unknown")
