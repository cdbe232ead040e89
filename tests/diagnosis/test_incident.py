"""What an incident says by itself: of whom it is, whether a process ended by it, and which exception is its root."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.diagnosis.incident import Frame, Incident, IncidentRole, Raised, incident_of, role_of
from orchestrator.diagnosis.lines import Line
from orchestrator.engines.vllm.log.failures import FAILURES
from orchestrator.engines.vllm.log.grammar import GRAMMAR

WRAPPER = "RuntimeError: Engine core initialization failed. See root cause above."

STATUS = "subprocess.CalledProcessError: Command 'ninja' returned non-zero exit status 1."


def raised(text: str, *, caused_next: bool = False, entry: str = "f", then: str = "") -> Raised:
    frames = tuple(Frame("/a/b.py", 3, function) for function in (entry, then) if function)
    return Raised(text.partition(":")[0], text, 9, frames, caused_next, role_of(text, FAILURES))


def line(**more: Any) -> Line:
    given: dict[str, Any] = {"process": None, "pid": None, "level": None, "time": None, "file": None, **more}
    return Line(7, message="x", **given)


def incident(*chain: Raised, kind: Any = "exception", title: str = "", **of_line: Any) -> Incident:
    return incident_of(kind, line(**of_line), chain or (raised("ValueError: real"),), GRAMMAR, title)


@pytest.mark.parametrize(
    ("text", "role"),
    [
        ("ValueError: real", "initiating"),
        (WRAPPER, "cascade"),
        ("RuntimeError: Frontend process failed during engine core initialization. See root cause above. Failed frontend proc(s): {'ApiServer_0': 1}", "cascade"),
        ("RuntimeError: Engine core process EngineCore_DP0 died unexpectedly.", "cascade"),
        ("RuntimeError: Process ApiServer_1 (PID: 102) died with exit code -9", "cascade"),
        ("RuntimeError: Worker failed with KV connector output", "cascade"),
        ("RuntimeError: One or more workers failed", "cascade"),
        ("RuntimeError: One or more workers failed to load", "initiating"),
        ("RuntimeError: Microbatch 1 of 2 failed", "cascade"),
        ("RuntimeError: Input socket thread died during startup", "cascade"),
        ("ray.exceptions.RayTaskError: ray::Worker.run()", "cascade"),
        ("RuntimeError: cancelled", "teardown"),
        ("RuntimeError: cancelled by us", "initiating"),
        ("asyncio.exceptions.CancelledError", "teardown"),
        ("KeyboardInterrupt", "teardown"),
        ("zmq.error.ZMQError: Socket operation on non-socket", "teardown"),
        ("zmq.error.ZMQError: Address already in use (addr='tcp://127.0.0.1:50000')", "initiating"),
        ("torch.distributed.DistNetworkError: The server socket has failed to listen. EADDRINUSE", "initiating"),
        ("torch.distributed.DistBackendError: NCCL error, remote process exited or there was a network error", "teardown"),
        ("RuntimeError: Connection closed by peer [10.0.0.1]:4711", "teardown"),
        ("ConnectionRefusedError: [Errno 111] Connection refused", "teardown"),
        ("ValueError: first line\nBroken pipe", "initiating"),
        ("MyEOFErrors: x", "initiating"),
    ],
)  # fmt: skip
def test_what_a_text_says_by_itself(text: str, role: IncidentRole) -> None:
    assert role_of(text, FAILURES) == role


@pytest.mark.parametrize(
    ("texts", "role"),
    [
        (["ValueError: real", WRAPPER], "initiating"),
        ([WRAPPER, "KeyboardInterrupt"], "teardown"),
        ([WRAPPER], "cascade"),
    ],
)
def test_a_chain_is_a_cause_where_one_of_it_is(texts: list[str], role: IncidentRole) -> None:
    assert incident(*map(raised, texts)).role == role


@pytest.mark.parametrize(
    ("level", "role"),
    [("WARNING", "benign"), ("INFO", "benign"), ("ERROR", "initiating"), (None, "initiating")],
)
def test_what_was_caught_and_told_as_harmless_is_benign(level: str | None, role: IncidentRole) -> None:
    assert incident(level=level).role == role
    assert incident(level=level, kind="crash").role == "initiating"


@pytest.mark.parametrize(
    ("said", "of_engine"),
    [
        ({"process": "Worker_TP4", "level": "ERROR", "file": "multiproc_executor.py:783"}, True),
        ({"process": "EngineCore_DP0", "level": "ERROR", "file": "core.py:7"}, True),
        ({"level": "ERROR", "file": "ProcessGroupNCCL.cpp:629"}, True),
        ({"process": "EngineCore_DP0", "level": "ERROR", "file": "backend_xgrammar.py:160"}, False),
        ({"process": "APIServer", "level": "ERROR", "file": "serving_chat.py:262"}, False),
        ({"process": "MainProcess", "level": "ERROR", "file": "utils.py:599"}, True),
        ({"process": "APIServer", "level": "ERROR", "file": "utils.py:599"}, False),
        ({"process": "MainProcess", "level": "ERROR", "file": "vllm.v1.utils"}, True),
        ({"process": "MainProcess", "level": "ERROR", "file": "vllm.tool_parsers.utils"}, False),
        ({"process": "DPSupervisor", "level": "ERROR", "file": "dp_supervisor.py:9"}, True),
        ({"process": "Worker_TP4"}, True),
        ({"process": "EngineCore_DP0"}, True),
        ({"process": "APIServer"}, False),
        ({}, False),
    ],
)  # fmt: skip
def test_whether_the_engine_says_it_of_itself(said: dict[str, Any], of_engine: bool) -> None:
    assert incident(**said).of_engine is of_engine


@pytest.mark.parametrize(
    ("made", "fatal"),
    [
        (incident(level="ERROR"), False),
        (incident(level="ERROR", title="WorkerProc failed to start."), True),
        (incident(level="ERROR", title="It is said that WorkerProc failed to start."), False),
        (incident(raised("ValueError: x", entry="<module>")), True),
        (incident(raised("ValueError: x", entry="_bootstrap")), True),
        (incident(raised("ValueError: x", entry="<module>"), level="ERROR"), False),
        (incident(raised("ValueError: x", entry="")), False),
        (incident(raised(WRAPPER), level="ERROR"), True),
        (incident(kind="crash"), True),
        (incident(kind="refusal"), True),
    ],
)
def test_whether_a_process_ended_by_it(made: Incident, fatal: bool) -> None:
    assert made.fatal is fatal


@pytest.mark.parametrize(
    ("made", "leaves"),
    [
        (incident(raised("ValueError: x", entry="<module>")), True),
        (incident(raised("ValueError: x", entry="_run_module_as_main")), True),
        (incident(raised("ValueError: x", entry="_bootstrap")), False),  # a child's
        (
            incident(raised("ValueError: x", entry="<module>", then="spawn_main")),
            False,
        ),  # one that was spawned
        (incident(raised("ValueError: x", entry="<module>"), level="ERROR"), False),
        (incident(raised("ValueError: x", entry="")), False),
        (incident(raised("ValueError: x", entry="<module>"), kind="refusal"), False),
    ],
)
def test_whether_the_program_itself_ended_by_it(made: Incident, leaves: bool) -> None:
    assert made.leaves_program is leaves


def test_a_crash_that_only_says_that_a_process_is_gone() -> None:
    assert incident(raised("Killed"), kind="crash").died_only
    assert not incident(raised("Killed"), kind="exception").died_only
    assert not incident(raised("Segmentation fault"), kind="crash").died_only


@pytest.mark.parametrize(
    ("chain", "root"),
    [
        ([raised("KeyError: deep", caused_next=True), raised("ValueError: shallow")], "KeyError: deep"),
        ([raised("KeyError: handled"), raised("ValueError: real")], "ValueError: real"),
        ([raised("ValueError: real"), raised(WRAPPER)], "ValueError: real"),
        ([raised("ValueError: real"), raised(WRAPPER), raised(WRAPPER)], WRAPPER),
        ([raised("KeyboardInterrupt", caused_next=True), raised("ValueError: real")], "ValueError: real"),
        ([raised("A: 1", caused_next=True), raised("B: 2", caused_next=True), raised("C: 3")], "A: 1"),
        ([raised("A: 1"), raised("B: 2", caused_next=True), raised("C: 3")], "B: 2"),
        ([raised(WRAPPER)], WRAPPER),
        ([raised(STATUS, caused_next=True), raised("ValueError: nvcc says")], "ValueError: nvcc says"),
        ([raised("A: 1", caused_next=True), raised(STATUS, caused_next=True), raised("B: 2")], "A: 1"),
        ([raised(STATUS)], STATUS),
    ],
)
def test_the_root_of_a_chain(chain: list[Raised], root: str) -> None:
    assert incident(*chain).root.text == root


def test_it_is_where_its_lines_are() -> None:
    assert (incident().first_line, incident().last_line, incident().lines) == (7, 7, 1)
    longer = incident_of("exception", line(), [raised("A: x")], GRAMMAR, last=12, lines=4)
    assert (longer.first_line, longer.last_line, longer.lines) == (7, 12, 4)
