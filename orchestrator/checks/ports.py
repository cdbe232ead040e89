"""Which ports are taken, and by whom?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from orchestrator.checks.check import Check, not_known
from orchestrator.facts.examined import ports
from orchestrator.facts.examined.ports import Port
from orchestrator.facts.gather import Facts
from orchestrator.facts.source import Unknown

SUBJECT = "ports"
NAMED = 8
"""So many are shown; --json has all."""


def check(facts: Facts) -> Iterator[Check]:
    """All of them in one line: which one a launch wants is the playbook's to say."""
    taken = facts.of(ports.FACT)
    if isinstance(taken, Unknown):
        yield from not_known(SUBJECT, taken)
    else:
        yield Check(SUBJECT, "pass", _listed(taken))


def _listed(taken: Sequence[Port]) -> str:
    words = [_port(port) for port in taken]
    more = f", and {len(words) - NAMED} more" if len(words) > NAMED else ""
    return f"taken: {', '.join(words[:NAMED])}{more}" if words else "nobody listens"


def _port(port: Port) -> str:
    owner = f"{port.program}, pid {port.pid}, user {port.user}" if port.pid else port.user
    return f"{port.port} ({owner})"
