"""How often and how long is a launch tried?"""

from __future__ import annotations

from dataclasses import dataclass

DRAIN_SECONDS = 600.0
"""How long a replica may take to answer what it has, unless somebody says so."""


@dataclass(frozen=True)
class Limits:
    """How often and how long to try; `ready_seconds` None takes the playbook's ready_timeout."""

    max_attempts: int = 4
    ready_seconds: float | None = None
