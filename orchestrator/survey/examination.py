"""What is true on a host, whatever is deployed there?"""

from __future__ import annotations

from dataclasses import replace

from orchestrator.facts.gather import Facts, commands, read
from orchestrator.facts.source import Query
from orchestrator.hosts.host import Host
from orchestrator.programs.ask import ask
from orchestrator.programs.read_facts import ReadFacts

EXAMINATION_SECONDS = 60.0
"""How long the slowest command and the way there may take together."""


def examine(host: Host, query: Query) -> Facts:
    """Every fact there is, in one round trip; changes nothing."""
    whole = replace(query, examined=True)
    request = ReadFacts(commands=commands(whole))
    return read(ask(host, request, deadline=EXAMINATION_SECONDS), whole)
