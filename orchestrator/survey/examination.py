"""What is true on a host, whatever is deployed there?"""

from __future__ import annotations

import time
from dataclasses import replace

from orchestrator.facts.gather import Facts, commands, read, reading
from orchestrator.facts.source import Query
from orchestrator.hosts.host import Host
from orchestrator.programs.ask import ask
from orchestrator.programs.read_facts import ReadFacts

EXAMINATION_SECONDS = 60.0
"""How long the slowest command and the way there may take together."""


def examine(host: Host, query: Query) -> Facts:
    """Every fact there is, in one round trip; changes nothing."""
    whole = replace(query, examined=True)
    began = time.time()
    replies = ask(host, ReadFacts(commands=commands(whole)), deadline=EXAMINATION_SECONDS)
    return read(replies, replace(whole, between=(began, time.time())))


def with_environments(host: Host, query: Query, facts: Facts) -> Facts:
    """The facts, and which environments have an engine: a second round trip for who found none where it was to be."""
    from orchestrator.facts.examined.environments import FACT  # few commands come here

    replies = ask(host, ReadFacts(commands=commands(query, [FACT])), deadline=EXAMINATION_SECONDS)
    listed = reading(FACT, replies, query)
    return replace(facts, known={**facts.known, FACT.name: listed})
