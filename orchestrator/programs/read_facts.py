"""Which commands are run for facts, and what did they say?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchestrator.programs.request import Request, Value


class FactCommand(Value):
    """An argument list, in which `~` is the home folder on the host, its limit in seconds, and what it is run with."""

    argv: tuple[str, ...]
    timeout: float
    environment: Mapping[str, str] = {}


Reply = Mapping[str, Any]
"""{rc, stdout, stderr}, {missing}, {refused} or {timed_out, stdout}: `facts/source.py` reads it, which is shipped with no
model."""


class ReadFacts(Request[Mapping[str, Reply]]):
    program = "read_facts"

    commands: Mapping[str, FactCommand]
