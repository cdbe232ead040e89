"""Tracebacks, refusals and crashes, put together from lines of several processes."""

from __future__ import annotations

import textwrap

import pytest

from orchestrator.diagnosis.incident import Incident
from orchestrator.diagnosis.incidents import Incidents
from orchestrator.diagnosis.lines import read
from orchestrator.engines.vllm.log.grammar import GRAMMAR


def found(text: str) -> list[Incident]:
    collector = Incidents(GRAMMAR)
    lines = textwrap.dedent(text).strip("\n").encode().split(b"\n")
    done = [incident for line in read(lines, GRAMMAR) for incident in collector.feed(line)]
    return sorted([*done, *collector.so_far()], key=lambda incident: incident.first_line)


LOGGED = "({name} pid={pid}) ERROR 02-20 21:35:07 [core.py:7] {text}"
TRACE = [
    "Failed.",
    "Traceback (most recent call last):",
    '  File "/a/b.py", line 3, in f',
    "    g()",
    "ValueError: {name}",
]


def logged(name: str, pid: int, texts: list[str]) -> list[str]:
    return [LOGGED.format(name=name, pid=pid, text=text.format(name=name)) for text in texts]


def test_a_logged_traceback() -> None:
    (one,) = found("\n".join(logged("Worker_TP4", 7, TRACE)))
    assert (one.kind, one.role, one.process, one.pid, one.level, one.title) == (
        "exception", "initiating", "Worker_TP4", 7, "ERROR", "Failed.",
    )  # fmt: skip
    assert (one.first_line, one.last_line, one.lines) == (2, 5, 4)
    assert (one.root.exception, one.root.text, one.root.line) == ("ValueError", "ValueError: Worker_TP4", 5)
    assert [(frame.file, frame.line, frame.function) for frame in one.root.frames] == [("/a/b.py", 3, "f")]


def test_processes_that_write_at_once() -> None:
    streams = [logged(f"Worker_TP{rank}", rank + 1, TRACE) for rank in range(3)]
    mixed = [line for lines in zip(*streams, strict=True) for line in lines]
    assert [one.root.text for one in found("\n".join(mixed))] == [
        f"ValueError: Worker_TP{rank}" for rank in range(3)
    ]


def test_a_raw_traceback_between_progress() -> None:
    (one,) = found("""
        Traceback (most recent call last):
          File "/a/b.py", line 3, in <module>
        Loading safetensors checkpoint shards:  20% Completed | 1/5 [00:01<00:05, 1.27s/it]
            g()
        pkg.errors.TapeDriveBusy: spool 3
        INFO:     Shutting down
    """)
    assert one.root.text == "pkg.errors.TapeDriveBusy: spool 3"
    assert one.root.exception == "pkg.errors.TapeDriveBusy"
    assert one.leaves_program


def test_a_cause_given_with_from_is_the_root() -> None:
    (one,) = found("""
        Traceback (most recent call last):
          File "/a/b.py", line 3, in f
        KeyError: 'deep'

        The above exception was the direct cause of the following exception:

        Traceback (most recent call last):
          File "/a/c.py", line 4, in g
        app.Outer: shallow
    """)
    assert [raised.text for raised in one.chain] == ["KeyError: 'deep'", "app.Outer: shallow"]
    assert one.root.text == "KeyError: 'deep'"


def test_an_exception_that_was_being_handled_is_not() -> None:
    (one,) = found("""
        Traceback (most recent call last):
          File "/a/b.py", line 3, in f
        KeyError: 'cache miss'

        During handling of the above exception, another exception occurred:

        Traceback (most recent call last):
          File "/a/c.py", line 4, in g
        app.Outer: real
    """)
    assert one.root.text == "app.Outer: real"


def test_a_wrapper_around_a_cause_is_not() -> None:
    (one,) = found("""
        Traceback (most recent call last):
          File "/a/b.py", line 3, in f
        ValueError: real

        During handling of the above exception, another exception occurred:

        Traceback (most recent call last):
          File "/a/c.py", line 4, in g
        RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}
    """)
    assert one.root.text == "ValueError: real"
    assert one.role == "initiating"


def test_a_message_of_several_lines() -> None:
    (one,) = found("""
        (APIServer pid=5) Traceback (most recent call last):
        (APIServer pid=5)   File "/a/b.py", line 3, in <module>
        (APIServer pid=5) pydantic_core.ValidationError: 1 validation error for ParallelConfig
        (APIServer pid=5)   Value error, World size (8) is larger
        (APIServer pid=5)
        (APIServer pid=5)     For further information visit
        (APIServer pid=5) INFO:     Shutting down
    """)
    assert one.root.text.splitlines()[1:] == [
        "  Value error, World size (8) is larger",
        "",
        "    For further information visit",
    ]


@pytest.mark.parametrize(
    ("text", "role"),
    [
        (
            "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}",
            "cascade",
        ),
        (
            "Exception: WorkerProc initialization failed due to an exception in a background process.",
            "cascade",
        ),
        ("RuntimeError: Worker failed with error 'x', please check the stack trace above", "cascade"),
        ("vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue.", "cascade"),
        ("RuntimeError: Executor failed.", "cascade"),
        ("RuntimeError: cancelled", "teardown"),
        ("RuntimeError: cancelled by the operator's policy", "initiating"),
        ("BrokenPipeError: [Errno 32] Broken pipe", "teardown"),
        ("AssertionError", "initiating"),
    ],
)
def test_roles(text: str, role: str) -> None:
    (one,) = found(f'Traceback (most recent call last):\n  File "/a.py", line 1, in f\n{text}')
    assert one.role == role


def test_a_warning_with_a_traceback_is_benign() -> None:
    (one,) = found("\n".join(line.replace("ERROR", "WARNING") for line in logged("Worker", 3, TRACE)))
    assert one.role == "benign"


def test_a_refused_command_line() -> None:
    (one,) = found("""
        usage: vllm serve [-h]
                          [--model MODEL]
        vllm serve: error: argument --kv-cache-dtype: invalid choice: 'fp16'
    """)
    assert (one.kind, one.root.line) == ("refusal", 3)
    assert one.root.text == "vllm serve: error: argument --kv-cache-dtype: invalid choice: 'fp16'"


@pytest.mark.parametrize(
    "text",
    [
        "Fatal Python error: Segmentation fault",
        "bash: line 3:  4711 Bus error               (core dumped) vllm serve x",
        "Failed: Cuda error /build/custom_all_reduce.cuh:310 'invalid argument'",
        "bash: vllm: command not found",
        "/usr/bin/python3: No module named vllm",
        "(EngineCore pid=4) ERROR 02-20 21:35:07 [m.py:7] Worker proc VllmWorker-0 died unexpectedly (exit code: -9), shutting down",
    ],
)
def test_a_crash(text: str) -> None:
    (one,) = found(text)
    assert one.kind == "crash"
    assert one.fatal


def test_a_traceback_without_its_exception_is_an_incident_once_nothing_goes_on_with_it() -> None:
    text = 'Traceback (most recent call last):\n  File "/a.py", line 1, in f\n    g()'
    assert found(text) == []
    collector = Incidents(GRAMMAR)
    for line in read(text.encode().splitlines(), GRAMMAR):
        collector.feed(line)
    (cut,) = collector.so_far(over=True)
    assert (cut.kind, cut.role, cut.fatal, cut.root.line) == ("cut", "cascade", False, 2)
    assert [one.kind for one in found(text + "\n" * 60 + "x\n" * 60)] == ["cut"]


def test_the_same_record_twice_gives_two_incidents() -> None:
    twice = logged("Worker", 3, [*TRACE, *TRACE[1:]])
    assert [one.lines for one in found("\n".join(twice))] == [4, 4]


def test_memory_is_bounded() -> None:
    collector = Incidents(GRAMMAR)
    for number in range(3000):
        raw = f"(P{number} pid={number}) Traceback (most recent call last):".encode()
        for line in read([raw], GRAMMAR):
            collector.feed(line)
    assert len(collector._open) <= 512
