"""Which line goes on with a traceback, and which exceptions come of it."""

from __future__ import annotations

import pytest

from orchestrator.diagnosis.incident import Frame, Raised
from orchestrator.diagnosis.lines import Line
from orchestrator.diagnosis.tracebacks import MESSAGE_BYTES, Traceback
from orchestrator.engines.vllm.log.failures import FAILURES

TIME = "02-20 21:35:07"
FRAME = '  File "/a/b.py", line 3, in f'
DIRECT = "The above exception was the direct cause of the following exception:"
HANDLING = "During handling of the above exception, another exception occurred:"


def line(message: str, number: int, level: str | None = None, time: str | None = TIME) -> Line:
    return Line(number, None, None, level, time if level else None, None, message)


def read(*messages: str, level: str | None = None) -> tuple[Traceback, list[bool]]:
    """A traceback that began on line 1, and whether each line behind it went on with it."""
    made = Traceback(line("Traceback (most recent call last):", 1, level), "", FAILURES)
    return made, [made.accept(line(message, number, level)) for number, message in enumerate(messages, 2)]


def texts(chain: list[Raised]) -> list[str]:
    return [raised.text for raised in chain]


@pytest.mark.parametrize("level", [None, "ERROR"])
def test_frames_and_the_exception_behind_them(level: str | None) -> None:
    made, accepted = read(
        FRAME, "    g()", "    ^^^", '  File "<string>", line 1', "a.b.MyError: it broke", level=level
    )
    assert accepted == [True] * 5
    (raised,) = made.complete()
    assert (raised.exception, raised.text, raised.line) == ("a.b.MyError", "a.b.MyError: it broke", 6)
    assert raised.frames == (Frame("/a/b.py", 3, "f"), Frame("<string>", 1, ""))
    assert (made.last, made.lines) == (6, 5)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("ValueError: x", "ValueError"),
        ("KeyboardInterrupt", "KeyboardInterrupt"),
        ("ValueError:", "ValueError"),
        ("pkg.mod.Odd_Name: x", "pkg.mod.Odd_Name"),
        ("socket.timeout: timed out", "socket.timeout"),
        ("zmq.error.Again: x", "zmq.error.Again"),
        ("ray.exceptions.RayTaskError(ValueError): x", "ray.exceptions.RayTaskError(ValueError)"),
    ],
)
def test_a_line_that_is_an_exception(text: str, name: str) -> None:
    made, accepted = read(FRAME, text)
    assert accepted == [True, True]
    assert made.complete()[0].exception == name


@pytest.mark.parametrize(
    "text",
    ["INFO: x", "Loading: x", "Killed", "Process SpawnProcess-1:", "lower: x", "two Words: x", "Note: x"],
)
def test_a_line_that_is_none_ends_the_traceback(text: str) -> None:
    made, accepted = read(FRAME, text)
    assert accepted == [True, False]
    assert made.complete() == []


@pytest.mark.parametrize(("between", "caused"), [(DIRECT, True), (HANDLING, False)])
def test_a_chain_of_two(between: str, caused: bool) -> None:
    made, accepted = read(FRAME, "KeyError: 1", "", between, "")
    assert accepted == [True] * 5
    assert made.accept_another(line("Traceback (most recent call last):", 7))
    assert [made.accept(line(text, number)) for number, text in enumerate((FRAME, "ValueError: 2"), 8)] == [
        True
    ] * 2
    chain = made.complete()
    assert [(raised.text, raised.caused_next) for raised in chain] == [
        ("KeyError: 1", caused),
        ("ValueError: 2", False),
    ]
    assert [len(raised.frames) for raised in chain] == [1, 1]


def test_another_traceback_is_another_one_unless_it_was_announced() -> None:
    made, _ = read(FRAME, "KeyError: 1")
    assert not made.accept_another(line("Traceback (most recent call last):", 4))
    made, _ = read(FRAME, "KeyError: 1", "", DIRECT)
    assert not made.accept(line("something else", 6))


@pytest.mark.parametrize(
    ("announced", "number", "quoted"),
    [
        ("Error: it said:", 4, True),
        ("Error: in a subprocess", 4, True),
        ("Error: it said", 4, False),
        ("Error: it said:", 5, False),
    ],
)
def test_what_another_program_wrote_is_the_cause_of_the_exception_that_quotes_it(
    announced: str, number: int, quoted: bool
) -> None:
    made, _ = read(FRAME, announced, level="ERROR")
    assert made.accept_another(line("Traceback (most recent call last):", number, "ERROR")) is quoted
    if quoted:
        made.accept(line(FRAME, 5, "ERROR"))
        made.accept(line("KeyError: inner", 6, "ERROR"))
        chain = made.complete()
        assert [(raised.text, raised.caused_next) for raised in chain] == [
            ("KeyError: inner", True),
            (announced, False),
        ]


@pytest.mark.parametrize(
    "aside",
    [
        "INFO: x", "usage: vllm", "[rank0]:[W x", "+ vllm serve", "Killed", "/a/b.py:3: UserWarning: x", "PS C:\\Users\\a> pip",
        "2026-02-20 21:37:01 [entrypoint] vllm exited, code 1", "[2026-02-20T21:37:01Z] not restarting", "Fri Feb 20 21:37:01 2026 over",
        "curl: (7) Failed to connect", "rpc error: code = NotFound", "Connection to gpu7 closed.", "##[error]Bash exited", "real    0m12.103s", "```", "C:\\Users\\a>",
        "(vllm) a@gpu07:~$", "bash-5.1$", ">>> ", "Stream closed EOF for default/vllm-0 (vllm)", "vllm.service: Start request repeated too quickly.",
        "[WARN ] Handler - interrupted", "[INFO] Stop process: 118", "root@2f1b:/llm# echo $?", "2025-12-23 12:12:31.448027+08:00 - gpustack.worker.serve_manager - WARNING - x", "- ray.manager - ERROR - x",
    ],
)  # fmt: skip
def test_a_message_goes_on_in_raw_output_until_somebody_else_talks(aside: str) -> None:
    made, accepted = read(FRAME, "ValueError: first", "second", "third ", aside)
    assert accepted == [True, True, True, True, False]
    assert texts(made.complete()) == ["ValueError: first\nsecond\nthird"]


def test_a_message_goes_on_without_a_gap_where_there_is_no_header_and_at_one_time_where_there_is() -> None:
    raw, _ = read(FRAME, "ValueError: first")
    assert not raw.accept(line("too far below", 5))
    headed, _ = read(FRAME, "ValueError: first", level="ERROR")
    assert headed.accept(line("its second, between others", 9, "ERROR"))
    assert not headed.accept(line("a second later", 10, "ERROR", "02-20 21:35:08"))
    assert not headed.accept(line("WorkerProc failed to start.", 11, "ERROR"))


def test_of_a_message_no_more_is_kept_than_counts() -> None:
    made, accepted = read(FRAME, "ValueError: 1", *[f"line {number}" for number in range(2, 30)])
    assert accepted[: 2 + 23] == [True] * 25 and accepted[25] is False
    assert len(made.complete()[0].text.split("\n")) == 24
    long, _ = read(FRAME, f"ValueError: {'x' * 2 * MESSAGE_BYTES}")
    assert len(long.complete()[0].text) == MESSAGE_BYTES
    headed, accepted = read(FRAME, "ValueError: 1", *[f"more {n}" for n in range(30)], level="ERROR")
    assert all(accepted)  # what a process says under one header is passed over with it
    assert len(headed.complete()[0].text.split("\n")) == 24


def test_what_was_written_twice_is_read_once() -> None:
    header = "Traceback (most recent call last):"
    made = Traceback(line(header, 1), "", FAILURES, last=1)
    assert made.accept_another(line(header, 2)) and made.cut_off
    twice = [text for text in (FRAME, "E: 1", "2") for _ in range(2)]
    assert all(made.accept(line(text, number)) for number, text in enumerate(twice, 3))
    assert texts(made.complete()) == ["E: 1\n2"]


def test_of_many_frames_the_outermost_and_the_innermost_are_kept() -> None:
    made, _ = read(*[f'  File "/a.py", line {number}, in f' for number in range(1, 101)], "ValueError: deep")
    frames = made.complete()[0].frames
    assert [frame.line for frame in frames] == [1, *range(41, 101)]


def test_a_copy_is_completed_while_the_traceback_goes_on() -> None:
    made, _ = read(FRAME, "ValueError: first")
    assert texts(made.copy().complete()) == ["ValueError: first"]
    assert made.accept(line("second", 4))
    assert texts(made.complete()) == ["ValueError: first\nsecond"]


def test_of_a_list_of_attempts_the_first_is_the_cause_of_what_lists_them() -> None:
    tried = "Error details from previous import attempts:"
    made, _ = read(
        FRAME,
        "ImportError: no tape could be loaded",
        "",
        tried,
        "- OSError: drive 4 is torn",
        "- KeyError: 'drive'",
    )
    chain = made.complete()
    assert [(raised.exception, raised.caused_next) for raised in chain] == [
        ("OSError", True),
        ("ImportError", False),
    ]
    assert chain[0].text == "OSError: drive 4 is torn\nno tape could be loaded"
    assert chain[0].line == chain[1].line + 3


@pytest.mark.parametrize(
    ("source", "exception", "words"),
    [
        (["    assert stages >= 1", "           ^^^^^^"], "AssertionError", "AssertionError: assert stages >= 1"),
        (["    assert (", "        a == b", "    )"], "AssertionError", "AssertionError: assert (a == b)"),
        (["    assert ("], "AssertionError", "AssertionError"),
        (["    raise NotImplementedError"], "NotImplementedError:", "NotImplementedError: raise NotImplementedError"),
        (["    param = named[name]", "    ~~~^^"], "KeyError: 'w2'", "KeyError: 'w2' in param = named[name]"),
        (["    ^^^"], "AssertionError", "AssertionError"),
        (["    raise ValueError(text)"], "ValueError: no such thing", "ValueError: no such thing"),
    ],
)  # fmt: skip
def test_an_exception_without_words_has_those_of_its_statement(
    source: list[str], exception: str, words: str
) -> None:
    made, _ = read(FRAME, "    outer()", FRAME, *source, exception)
    assert made.complete()[0].words == words
