"""Which checks of several hosts are made by their facts alone, in the order in which they are shown?"""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator.checks.between import cards, engines, networks
from orchestrator.checks.between.group_check import GroupCheck
from orchestrator.facts.gather import Facts


def check(hosts: Mapping[str, Facts]) -> tuple[GroupCheck, ...]:
    """Every one; what a host does not know is compared with nothing."""
    return (*engines.check(hosts), *cards.check(hosts), *networks.check(hosts))
