"""Whether a launch stands still, and what keeps it."""

from __future__ import annotations

import pytest

from orchestrator.diagnosis.engine import Diagnosis, diagnose_log
from orchestrator.diagnosis.stacks import Stack, of_files
from orchestrator.engines.vllm.log.dumps import DUMPS
from orchestrator.engines.vllm.log.grammar import GRAMMAR
from orchestrator.patches.known import Known

WORKER = "(Worker_TP0 pid=300) INFO 11-28 10:02:00 [a.py:1] "
STARTS = f"{WORKER}Initializing a V1 LLM engine (v0.33.0) with config: model='m'\n{WORKER}Available KV cache memory: 4 GiB\n"
UP = f"{STARTS}INFO:     Application startup complete.\n"
MAIN = 'Thread 0x00007f14ee89c740 (most recent call first):\n  File "/opt/torch/cuda/streams.py", line 243 in synchronize\n  File "<string>", line 1 in <module>\n'
HEALTH = 'INFO:     10.0.0.7:1 - "GET /health HTTP/1.1" 200 OK\n'


def dumped(why: str = "feed timeout") -> tuple[Stack, ...]:
    heading = f">>> Call stack dump #1 at Sat Nov 28 10:07:10 2026 due to {why}\n\n"
    return of_files([("VLLM_STACK_DUMP_for_worker_0_300.log", heading + MAIN)], DUMPS)


def judged(log: str, stacks: tuple[Stack, ...] = (), idle: float | None = None) -> Diagnosis:
    known = Known(idle_seconds=idle)
    return diagnose_log([log.encode()], grammar=GRAMMAR, known=known, patches=(), dumped=stacks)


@pytest.mark.parametrize(
    ("log", "verdict"),
    [
        (STARTS + MAIN, "hang"),
        (STARTS + MAIN + HEALTH, "hang"),
        (STARTS + MAIN + f"{WORKER}Graph capturing finished in 9 secs\n", "starting"),
        (UP + MAIN, "healthy"),  # what has no name before it may be a client's
        (UP + "".join(f"(Worker_TP0 pid=300) {line}\n" for line in MAIN.splitlines()), "hang"),
        (STARTS + MAIN + 'Traceback (most recent call last):\n  File "a.py", line 3, in <module>\nValueError: x\n', "unknown_fault"),
    ],
)  # fmt: skip
def test_a_log_that_ends_with_stacks(log: str, verdict: str) -> None:
    assert judged(log).verdict == verdict


@pytest.mark.parametrize(
    ("log", "stacks", "idle", "verdict"),
    [
        (STARTS, dumped(), 1.0, "starting"),  # it may only take its time
        (STARTS, dumped(), 9000.0, "hang"),
        (UP, dumped(), None, "hang"),
        (UP, dumped("SIGTERM"), None, "healthy"),
        (UP, (), None, "healthy"),
    ],
)
def test_stacks_from_files_of_their_own(
    log: str, stacks: tuple[Stack, ...], idle: float | None, verdict: str
) -> None:
    assert judged(log, stacks, idle).verdict == verdict


def test_it_is_told_who_keeps_it_and_what_was_said_last() -> None:
    diagnosis = judged(STARTS, dumped(), 9000.0)
    root = diagnosis.root_cause
    assert root is not None
    assert (
        root.text
        == "worker_0 (pid 300) waits for a kernel on its GPU to end: synchronize in cuda/streams.py:243"
    )
    assert (root.process, root.line, root.by_stack) == ("worker_0", 2, True)
    assert diagnosis.evidence[-1].text == "Available KV cache memory: 4 GiB"
