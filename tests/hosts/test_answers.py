from __future__ import annotations

import pytest

from orchestrator.base.errors import CheckpointError, HostError, PreflightRefused
from orchestrator.cli.hints import after
from orchestrator.hosts.answers import Answer, HostTraceback, Program, last_answer, no_answer, read_line

PROGRAM = Program("gpu", "facts", "python3")


def test_a_value_is_told_from_no_answer() -> None:
    assert read_line(PROGRAM, b'{"value": null}') == Answer(None)
    assert read_line(PROGRAM, b'{"value": [1, "a"]}') == Answer([1, "a"])


@pytest.mark.parametrize(
    "line",
    [b"", b"a banner", b"null", b"3", b"[]", b"{}", b'{"value": 1, "x": 2}', b'{"error": 1}', b"\xff{"],
)
def test_noise_is_no_answer(line: bytes) -> None:
    assert read_line(PROGRAM, line) is None


def test_the_answer_is_found_among_noise() -> None:
    assert last_answer(PROGRAM, [b"banner", b'{"value": 1}', b""]) == Answer(1)
    assert last_answer(PROGRAM, [b"banner"]) is None


def test_an_error_keeps_code_and_message() -> None:
    with pytest.raises(HostError) as caught:
        read_line(PROGRAM, b'{"error": {"code": "lock_held", "message": "Held by ada."}}')
    assert (caught.value.code, caught.value.message) == ("lock_held", "gpu: Held by ada.")


def test_a_refusal_leaves_with_the_exit_code_of_its_kind() -> None:
    with pytest.raises(PreflightRefused):
        read_line(PROGRAM, b'{"error": {"code": "foreign_folder", "message": "Not yours."}}')
    with pytest.raises(CheckpointError):
        read_line(PROGRAM, b'{"error": {"code": "changed_meanwhile", "message": "It changed."}}')


def test_an_exception_names_program_and_host() -> None:
    with pytest.raises(HostError) as caught:
        read_line(PROGRAM, b'{"error": {"code": "host_script", "message": "KeyError: 1", "traceback": "T"}}')
    assert caught.value.message == "facts failed on gpu: KeyError: 1"
    assert isinstance(caught.value.__cause__, HostTraceback)


def test_an_old_python_is_named() -> None:
    with pytest.raises(HostError) as caught:
        read_line(
            PROGRAM, b'{"error": {"code": "host_python_old", "message": "python 3.6 is older than 3.9"}}'
        )
    assert caught.value.code == "host_python_old"
    assert caught.value.message == "python3 on gpu is too old: python 3.6 is older than 3.9"


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (142, "deadline"),
        (-14, "deadline"),
        (127, "host_python_missing"),
        (126, "host_python_missing"),
        (0, "host_script"),
        (137, "host_script"),
    ],
)
def test_why_there_is_no_answer(status: int, code: str) -> None:
    error = no_answer(PROGRAM, status, b"first\nlast line\n", 30.0)
    assert error.code == code
    assert ("30 s" in error.message) if code == "deadline" else ("last line" in error.message)


def test_a_program_without_a_word_is_no_python() -> None:
    error = no_answer(PROGRAM, 0, b"", 30.0)
    assert error.code == "host_python_missing"
    assert "python3 --version" in (error.next_command or "")


def test_a_refusal_says_what_to_type_for_whoever_typed_the_command() -> None:
    with pytest.raises(PreflightRefused) as caught:
        read_line(PROGRAM, b'{"error": {"code": "foreign_folder", "message": "Not yours."}}')
    assert caught.value.next_command is None
    assert after(caught.value, "deploy kimi") == "deploy kimi --consent foreign-folder"
    with pytest.raises(HostError) as unknown:
        read_line(PROGRAM, b'{"error": {"code": "something", "message": "New."}}')
    assert after(unknown.value, "deploy kimi") is None
