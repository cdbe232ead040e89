"""Which commands are run for facts, and what did they say?"""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator.facts.source import Command, Reply
from orchestrator.programs.request import Request


class ReadFacts(Request[Mapping[str, Reply]]):
    """The commands by the names of their facts, and what became of each."""

    program = "read_facts"

    commands: Mapping[str, Command]
