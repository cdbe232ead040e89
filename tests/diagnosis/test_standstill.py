"""A log that goes on saying the same is no progress."""

from __future__ import annotations

import pytest

from orchestrator.diagnosis.engine import diagnose, diagnose_log
from orchestrator.diagnosis.lines import parse
from orchestrator.diagnosis.standstill import Standstill, standstill
from orchestrator.diagnosis.startup import StartUp
from orchestrator.engines.vllm.log.grammar import GRAMMAR
from orchestrator.patches.known import Known

POLL = "(A pid=1) DEBUG 03-11 05:{minute:02}:00 [utils.py:1] Waiting for 1 local, 0 remote core engine proc(s) to start."
NOTHING = (
    "(A pid=1) INFO 03-11 05:{minute:02}:00 [loggers.py:1] Engine 000: Avg prompt throughput: 0.0 tokens/s, Avg generation"
    " throughput: 0.0 tokens/s, Running: {running} reqs, Waiting: 0 reqs"
)
STARTED = [
    "INFO 03-11 05:00:00 [a.py:1] vLLM API server version 0.20.2",
    "INFO 03-11 05:00:01 [a.py:1] vLLM is using nccl==2.28",
]
UP = [*STARTED, "INFO:     Application startup complete."]


def still(lines: list[str]) -> Standstill:
    parsed = [parse(line.encode(), number, GRAMMAR) for number, line in enumerate(lines, 1)]
    return standstill(parsed, StartUp(GRAMMAR).is_progress, GRAMMAR.pulse)


def verdict(lines: list[str], idle: float = 0.0) -> str:
    known = Known(idle_seconds=idle)
    log = ("\n".join(lines) + "\n").encode()
    found = diagnose_log([log], grammar=GRAMMAR, known=known, patches=()).verdict
    assert found == diagnose(log.rstrip(b"\n").split(b"\n"), grammar=GRAMMAR, known=known, patches=()).verdict
    return found


def polls(minutes: int) -> list[str]:
    return [POLL.format(minute=minute) for minute in range(1, minutes + 1)]


def test_heartbeats_are_timed_by_what_they_say() -> None:
    assert still([*STARTED, *polls(9)]) == Standstill(480.0, stuck=False)


def test_so_they_are_where_records_are_json() -> None:
    beats = [
        f'{{"asctime": "2026-03-11 05:{minute:02}:00,123", "levelname": "DEBUG", "name": "vllm.v1.engine.utils", "message": "Waiting"}}'
        for minute in range(9)
    ]
    assert still([*STARTED, *beats]) == Standstill(480.0, stuck=False)


@pytest.mark.parametrize(
    "line",
    [
        "Loading safetensors checkpoint shards:  50% Completed | 3/6 [00:09<00:09,  3.0s/it]",
        "INFO 03-11 05:09:00 [a.py:1] something new",
    ],
)
def test_anything_else_begins_anew(line: str) -> None:
    assert still([*STARTED, *polls(9), line]).seconds == 0.0


def test_questions_for_health_are_no_sign_of_life() -> None:
    asked = 'INFO:     10.0.0.1:4 - "GET /health HTTP/1.1" 200 OK'
    assert still([*STARTED, *polls(8), asked]).seconds == 420.0


@pytest.mark.parametrize(
    ("minutes", "idle", "wanted"), [(5, 0, "starting"), (5, 400, "hang"), (14, 0, "hang")]
)
def test_a_launch_that_only_polls_hangs_beyond_its_phase(minutes: int, idle: float, wanted: str) -> None:
    assert verdict([*STARTED, *polls(minutes)], idle) == wanted


@pytest.mark.parametrize(
    ("running", "minutes", "wanted"), [(12, 6, "hang"), (0, 30, "healthy"), (12, 3, "healthy")]
)
def test_requests_that_get_no_tokens(running: int, minutes: int, wanted: str) -> None:
    lines = [NOTHING.format(minute=minute, running=running) for minute in range(1, minutes + 1)]
    assert verdict([*UP, *lines]) == wanted


def test_no_times_no_answer() -> None:
    assert still(["a beat"] * 50) == Standstill()
    assert still([]) == Standstill()
