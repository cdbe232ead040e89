"""The end of a log of a server that serves, without its start, is that of a healthy one."""

from __future__ import annotations

import pytest

from orchestrator.diagnosis.engine import diagnose_log
from orchestrator.engines.vllm.log.grammar import GRAMMAR
from orchestrator.patches.known import Known

BEGUN = "(APIServer pid=7) INFO 02-20 21:34:40 [api_server.py:1] vLLM API server version 0.16.0"
WORK = (
    "(APIServer pid=7) INFO 02-20 21:34:{:02d} [loggers.py:127] Engine 000: Avg prompt throughput: 41.0 tokens/s,"
    " Avg generation throughput: {} tokens/s, Running: {} reqs, Waiting: 0 reqs, GPU KV cache usage: 0.1%"
)
STUCK = [
    WORK.format(0, "0.0", 3).replace("41.0", "0.0").replace("21:34:00", f"21:{minute}:00")
    for minute in range(34, 44)
]


def asked(path: str, status: int) -> str:
    return f'(APIServer pid=7) INFO:     10.0.0.7:40112 - "POST {path} HTTP/1.1" {status} X'


CHAT, HEALTH = "/v1/chat/completions", "/health"


@pytest.mark.parametrize(
    ("lines", "verdict"),
    [
        ([asked(CHAT, 200)], "healthy"),
        ([asked(HEALTH, 200), asked("/metrics", 200)], "healthy"),
        ([WORK.format(7, "12.5", 2)], "healthy"),
        ([BEGUN, WORK.format(7, "12.5", 2)], "healthy"),
        ([asked(CHAT, 200), asked(CHAT, 400), "(APIServer pid=7) INFO:     Shutting down"], "healthy"),
        ([asked(CHAT, 404), asked(CHAT, 401)], "healthy"),
        ([asked(CHAT, 500), asked(CHAT, 500)], "unknown_fault"),
        ([asked(CHAT, 500), asked(HEALTH, 200)], "unknown_fault"),
        ([asked(HEALTH, 503)], "unknown_fault"),
        ([asked(CHAT, 500), asked(CHAT, 200)], "healthy"),
        ([BEGUN, asked(HEALTH, 200)], "starting"),  # of another program, which asks until it is up
        (STUCK, "hang"),
    ],
)
def test_the_last_requests_of_a_server(lines: list[str], verdict: str) -> None:
    text = "".join(f"{line}\n" for line in lines).encode()
    found = diagnose_log([text], grammar=GRAMMAR, known=Known(idle_seconds=None), patches=())
    assert found.verdict == verdict
    if verdict == "unknown_fault":
        assert found.root_cause is not None and f'" 50{lines[0][-3]}' in found.root_cause.text


def test_a_server_that_nobody_asks_is_silent_and_well() -> None:
    text = f"{asked(CHAT, 200)}\n".encode()
    assert (
        diagnose_log([text], grammar=GRAMMAR, known=Known(idle_seconds=9000), patches=()).verdict == "healthy"
    )
