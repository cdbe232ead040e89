"""Which lines say that a process ended, by itself or by somebody else."""

from __future__ import annotations

import re

import pytest

from orchestrator.diagnosis import crashes
from orchestrator.diagnosis.crashes import died_only, is_crash
from orchestrator.diagnosis.lines import Line
from orchestrator.engines.vllm.log.failures import FAILURES

CRASHED = [
    "Fatal Python error: Segmentation fault",
    "Segmentation fault (core dumped)",
    "/run.sh: line 12: 4711 Segmentation fault      vllm serve x",
    "Bus error",
    "Illegal instruction",
    "Aborted (core dumped)",
    "!!!!!!! Segfault encountered !!!!!!!",
    "Failed: Cuda error /csrc/custom_all_reduce.cuh:368 'invalid argument'",
    "bash: vllm: command not found",
    "/bin/sh: 1: vllm: Permission denied",
    "sh: 3: exec: /opt/venv/bin/python3: not found",
    "exec /app/start.sh: permission denied",
    "[gpu7:1062 :0:1062] Caught signal 11 (Segmentation fault: address not mapped to object at address (nil))",
    "/src/vector.h:146: void Vector<>::grow(size_t): Assertion `size() < max_size_' failed.",
    "double free or corruption (!prev)",
    "free(): invalid pointer",
    "malloc(): corrupted top size",
    "munmap_chunk(): invalid pointer",
    "corrupted size vs. prev_size",
    "*** stack smashing detected ***: terminated",
    "exec /usr/bin/python3: exec format error",
    'standard_init_linux.go:224: exec user process caused "exec format error"',
    "exec container process `/opt/venv/bin/vllm`: Exec format error",
    "Memory access fault by GPU node-1 (Agent handle: 0x58) on address 0x7fbe6a. Reason: Page not present.",
    "HW Exception by GPU node-1 (Agent handle: 0x5b) reason :GPU Hang",
    ":0:rocdevice.cpp :3675: 213 us:  Callback: Queue 0x7e aborting with error : HSA_STATUS_ERROR_EXCEPTION: x",
    "ERROR:    [Errno 98] error while attempting to bind on address ('0.0.0.0', 8000): address already in use",
    "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.8",
    "[Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7)",
    "/usr/bin/python3: No module named vllm",
]
GONE = [
    "Killed",
    "/run.sh: line 12: 4711 Killed                  vllm serve x",
    "docker: Error response from daemon: could not select device driver.",
    "Worker proc VllmWorker-3 died unexpectedly, shutting down executor.",
    "A worker died or was killed while executing a task by an unexpected system error.",
]
NEITHER = [
    "",
    "Killed processes are not restarted",
    "It was Aborted",
    "Abortedly",
    "the Segmentation fault of yesterday",
    "x: command not found here",
    "No module named vllm_extra",
    "loading libfault.so",
]


def line(message: str, level: str | None = None) -> Line:
    return Line(1, None, None, level, None, None, message)


@pytest.mark.parametrize("text", CRASHED)
def test_a_crash_is_one_unless_it_is_told_as_harmless(text: str) -> None:
    assert is_crash(line(text), FAILURES)
    assert is_crash(line(text, "ERROR"), FAILURES)
    assert not is_crash(line(text, "WARNING"), FAILURES)
    assert not died_only(text, FAILURES)


@pytest.mark.parametrize("text", GONE)
def test_what_only_says_that_a_process_is_gone(text: str) -> None:
    assert died_only(text, FAILURES)
    assert is_crash(line(text, "INFO"), FAILURES)


@pytest.mark.parametrize("text", NEITHER)
def test_what_says_neither(text: str) -> None:
    assert not is_crash(line(text), FAILURES)


@pytest.mark.parametrize("text", [*CRASHED, *GONE])
def test_a_log_is_searched_for_something_that_stands_in_every_such_line(text: str) -> None:
    assert any(hint in text for hint in crashes.hints(FAILURES))
    assert any(re.search(pattern, text) for pattern in crashes.telling(FAILURES))
