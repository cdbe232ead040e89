"""The state of many hosts as a table."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

from orchestrator.report.layout import plain
from orchestrator.report.outcomes import HostEnd
from orchestrator.report.statuses import table

AGO = timedelta(hours=2, minutes=5, seconds=30)


def state(
    word: str, *, launch: int | None = 3, cause: str = "", context: int | None = None
) -> dict[str, Any]:
    return {
        "state": word,
        "launch": launch,
        "started_at": (datetime.now(timezone.utc) - AGO).isoformat() if launch else None,
        "outcome": {"cause": cause} if cause else None,
        "context": context,
        "asked_context": 4096,
    }


def test_the_worst_stands_first_and_no_line_is_wider_than_the_screen() -> None:
    cause = "ValueError: No valid attention backend found for cuda with use_mla and a kv_cache_dtype of fp8"
    states = {
        "gpu1": state("healthy", context=4096),
        "gpu2": state("never launched", launch=None),
        "gpu3": state("dead", cause=cause),
        "gpu5": state("healthy", cause="of an earlier one", context=4096),
    }
    outcomes = [HostEnd("gpu4", 3, "unreachable"), *(HostEnd(name, 0, "done") for name in sorted(states))]
    lines = [plain(line) for line in table(states, outcomes, 80)]
    assert lines[0] == "5 hosts: 2 healthy; 1 dead; 1 never launched; 1 unreachable"
    assert [line.split()[0] for line in lines[2:]] == ["gpu4", "gpu3", "gpu2", "gpu1", "gpu5"]
    assert lines[3].startswith("  gpu3  dead            3       2h05m    ValueError: No valid")
    assert lines[-1] == "  gpu5  healthy         3       2h05m    context 4096"
    assert max(map(len, lines)) <= 80
