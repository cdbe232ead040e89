"""A line was written at its own time, or at that of the last one before it that has any."""

from __future__ import annotations

import pytest

from orchestrator.diagnosis.moments import written
from orchestrator.engines import registry

VLLM = registry.read("vllm").log
LOG = (
    b"(Worker pid=1) INFO 11-30 03:00:00 [a.py:1] one",
    b"(Worker pid=1) INFO 11-30 03:00:05 [a.py:1] two",
    b"Traceback (most recent call last):",
    b"(Worker pid=1) INFO 11-30 03:09:00 [a.py:1] four",
)


@pytest.mark.parametrize(("number", "after"), [(1, 0), (2, 5), (3, 5), (4, 540)])
def test_it_counts_from_the_same_moment_in_all_logs(number: int, after: int) -> None:
    first = written(LOG, 1, VLLM)
    assert first is not None
    assert written(LOG, number, VLLM) == first + after


def test_of_a_log_without_times_nothing_is_known() -> None:
    assert written([b"Killed"], 1, VLLM) is None
