"""What is said to an HAProxy about replicas at its admin socket, and what does it say of them? Pure; as 2.6 does it."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping

from orchestrator.fleet.replica import Replica

STATISTICS = "show stat"
SERVING = ("UP", "no check")
"""How the status of a server begins that requests are sent to; "UP 1/3" is on its way down."""


def ready(replica: Replica) -> str:
    return f"set server {replica.fleet}/{replica.name} state ready"


def drain(replica: Replica) -> str:
    return f"set server {replica.fleet}/{replica.name} state drain"


def servers(fleet: str, text: str) -> Mapping[str, bool] | None:
    """The servers of a fleet's backend by name, and whether requests are sent to each; None for what are no statistics."""
    if not text.startswith("# pxname,svname,"):
        return None
    rows = csv.DictReader(io.StringIO(text.removeprefix("# ")))
    return {
        row["svname"]: (row["status"] or "").startswith(SERVING)
        for row in rows
        if row["pxname"] == fleet and row["svname"] not in ("FRONTEND", "BACKEND")
    }
