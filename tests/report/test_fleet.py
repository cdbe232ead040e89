"""How a fleet looks to a person."""

from __future__ import annotations

from typing import Any

from orchestrator.report.fleet import status_lines
from orchestrator.report.layout import plain


def rows(*contexts: int | None) -> list[str]:
    """Those of replicas with these contexts; one without has fallen."""
    replicas: list[dict[str, Any]] = [
        {"name": f"m-{number}", "host": "a", "cards": [], "requests": 0, "context": context}
        | {"state": "healthy" if context else "dead", "ready": context is not None}
        for number, context in enumerate(contexts, 1)
    ]
    state = {"fleet": "m", "state": "healthy", "ready": 1, "router": None, "absent": {}, "repair": None}
    return [plain(line) for line in status_lines({**state, "replicas": replicas}, 80)[2:]]


def test_contexts_are_named_where_they_differ() -> None:
    """A replica that is brought back starts by the playbook, whatever a change of all of them had been given."""
    assert [row.partition("healthy")[2] for row in rows(4096, 4096)] == ["", ""]
    assert "context" not in " ".join(rows(4096, None))
    assert [row.partition("healthy")[2] for row in rows(4096, 8192)] == [", context 4096", ", context 8192"]
