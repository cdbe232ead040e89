"""How much time is left, and how its end is told."""

from __future__ import annotations

import time

import pytest

from orchestrator.hosts.pipes import connection_lost, deadline_passed, moment, remaining


def test_how_much_time_is_left() -> None:
    assert remaining(None) is None
    left = remaining(moment(60.0))
    assert left is not None and 59.0 < left <= 60.0
    with pytest.raises(TimeoutError):
        remaining(time.monotonic() - 0.001)


def test_a_deadline_and_a_lost_connection_are_told_with_host_and_numbers() -> None:
    late = deadline_passed("gpu7", 0.5, "'true'")
    assert (late.code, late.message) == ("deadline", "gpu7 did not finish 'true' within 0.5 s.")
    assert late.next_command == "uptime  # on gpu7: it answers too slowly; the same command resumes"
    assert connection_lost("gpu7").message == "The connection to gpu7 was lost."
    assert (
        connection_lost("gpu7", "reset by peer").message == "The connection to gpu7 was lost: reset by peer."
    )
