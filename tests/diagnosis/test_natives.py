"""What programs of other languages say when they fail is put together as an exception is."""

from __future__ import annotations

import re

import pytest

from orchestrator.diagnosis import natives
from orchestrator.diagnosis.engine import diagnose
from orchestrator.diagnosis.incident import Incident
from orchestrator.engines.vllm.log.grammar import GRAMMAR
from orchestrator.patches.known import Known
from tests.diagnosis.test_incidents import found

CPP = """
terminate called after throwing an instance of 'std::runtime_error'
  what():  the tape of drive 4 is torn
(EngineCore pid=7) INFO 02-20 21:35:07 [core.py:7] more
"""
RUST = """
thread '<unnamed>' (812) panicked at src/tape.rs:88:14:
called `Result::unwrap()` on an `Err` value: Torn
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace
"""
GO = """
panic: the tape is torn
[signal SIGSEGV: segmentation violation code=0x1 addr=0x18 pc=0x5f2c31]

goroutine 1 [running]:
"""
JAVA = """
Exception in thread "main" java.lang.IllegalStateException: no catalogue
	at io.x.Main.main(Main.java:12)
Caused by: java.io.IOException: no drive
	at io.x.Drive.open(Drive.java:7)
	... 3 more
Caused by: io.x.TapeTornException: drive 4
	... 8 more
Loading more
"""
TRITON = (
    "E0220 21:37:49.624943 179 backend_model.cc:694] \"ERROR: Failed to create instance: TypeError: open_tape() got an unexpected keyword argument 'drive'"
    '\\n\\nAt:\\n  /usr/lib/python3.12/contextlib.py(105): __init__\\n  /opt/venv/lib/python3.12/site-packages/vllm/engine.py(7): start\\n"'
)
GIT = "fatal: unable to access 'https://hub.example/m/': the tape is torn"


def one(text: str) -> Incident:
    (incident,) = found(text)
    return incident


@pytest.mark.parametrize(
    ("text", "kind", "exception", "words"),
    [
        (CPP, "crash", "std::runtime_error", "terminate called after throwing an instance of 'std::runtime_error'\n  what():  the tape of drive 4 is torn"),
        (RUST, "native", "panic", "thread '<unnamed>' (812) panicked at src/tape.rs:88:14:\ncalled `Result::unwrap()` on an `Err` value: Torn"),
        (GO, "native", "panic", "panic: the tape is torn"),
        ("fatal error: runtime: out of tape", "native", "fatal error", "fatal error: runtime: out of tape"),
        (JAVA, "native", "io.x.TapeTornException", "Caused by: io.x.TapeTornException: drive 4"),
        (TRITON, "native", "TypeError", "TypeError: open_tape() got an unexpected keyword argument 'drive'"),
        (GIT, "native", "fatal", GIT),
    ],
)  # fmt: skip
def test_what_other_languages_say(text: str, kind: str, exception: str, words: str) -> None:
    incident = one(text)
    assert (incident.kind, incident.role) == (kind, "initiating")
    assert (incident.root.exception, incident.root.text) == (exception, words)


def test_the_causes_of_java_are_a_chain_whose_deepest_comes_first() -> None:
    chain = [raised.exception for raised in one(JAVA).chain]
    assert chain == ["io.x.TapeTornException", "java.io.IOException", "java.lang.IllegalStateException"]
    assert [raised.line for raised in one(JAVA).chain] == [6, 3, 1]


@pytest.mark.parametrize(
    "text",
    [
        "fatal: not a git repository (or any of the parent directories): .git",
        "(Worker pid=7) WARNING 02-20 21:35:07 [x.py:7] panic: of yesterday",
        "so I said panic: now",
        "main.c:1:10: fatal error: Python.h: No such file or directory",
        "Exception in thread Thread-1 (run):",
    ],
)
def test_what_is_none(text: str) -> None:
    assert found(text) == []


def test_a_peer_that_went_is_no_cause_in_c_either() -> None:
    died = "terminate called after throwing an instance of 'c10::DistBackendError'\n  what():  NCCL error: remote process exited"
    assert one(died).role == "teardown"


@pytest.mark.parametrize("text", [CPP, RUST, GO, JAVA, GIT])
def test_a_log_is_searched_for_where_one_begins(text: str) -> None:
    line = text.strip().split("\n")[0]
    assert any(re.search(pattern, line) for pattern in natives.telling())


def test_what_python_made_of_a_panic_says_it_better() -> None:
    raised = 'Traceback (most recent call last):\n  File "/a/b.py", line 3, in <module>\n    g()\n'
    raised += "pyo3_runtime.PanicException: called `Result::unwrap()` on an `Err` value: Torn"
    lines = (RUST + raised).encode().split(b"\n")
    cause = diagnose(lines, grammar=GRAMMAR, known=Known(), patches=[]).root_cause
    assert cause and cause.exception == "PanicException"
    alone = diagnose(RUST.encode().split(b"\n"), grammar=GRAMMAR, known=Known(), patches=[]).root_cause
    assert alone and alone.exception == "panic"


@pytest.mark.parametrize(
    "name",
    ["nvshmemError", "pkg.ncclSystemError", "_tapeTorn", "std::runtime_error", "c10::Error", "a.b.gaierror"],
)
def test_an_exception_of_any_name_ends_a_traceback(name: str) -> None:
    incident = one(
        f'Traceback (most recent call last):\n  File "/a/b.py", line 3, in f\n    g()\n{name}: torn'
    )
    assert (incident.kind, incident.root.exception) == ("exception", name)


def test_pythons_frames_that_pybind_writes_innermost_first_are_read_outermost_first() -> None:
    frames = [
        (frame.file.rpartition("/")[2], frame.line, frame.function) for frame in one(TRITON).root.frames
    ]
    assert frames == [("engine.py", 7, "start"), ("contextlib.py", 105, "__init__")]
