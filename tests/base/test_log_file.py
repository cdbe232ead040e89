"""A log on this machine: followed by its name, whatever happens to the file."""

from __future__ import annotations

import io
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.base import log_file
from orchestrator.base.errors import UsageError
from tests.odd_files import put

SECONDS = 10.0


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_file, "LOOK_SECONDS", 0.01)


def until(following: Iterator[tuple[bytes, float]], wanted: bytes) -> None:
    """Follow until those bytes came."""
    came, end = b"", time.monotonic() + SECONDS
    while came != wanted and time.monotonic() < end:
        came += next(following)[0]
    assert came == wanted


def test_what_is_added_comes(tmp_path: Path) -> None:
    log = tmp_path / "vllm.log"
    log.write_bytes(b"one\n")
    following = log_file.follow(str(log))
    until(following, b"one\n")
    with log.open("ab") as more:
        more.write(b"two\n")
    until(following, b"two\n")


@pytest.mark.parametrize("how", ["cut short", "replaced", "removed for a while"])
def test_a_log_that_begins_anew_is_read_from_its_beginning(tmp_path: Path, how: str) -> None:
    log = tmp_path / "vllm.log"
    log.write_bytes(b"an old launch\n")
    following = log_file.follow(str(log))
    until(following, b"an old launch\n")
    if how == "cut short":
        log.write_bytes(b"new\n")
    else:
        if how == "removed for a while":
            log.unlink()
            next(following)
            next(following)
        other = tmp_path / "other.log"
        other.write_bytes(b"new\n")
        os.replace(other, log)
    until(following, b"new\n")


def test_silence_is_counted_from_the_last_growth_of_the_file(tmp_path: Path) -> None:
    log = tmp_path / "vllm.log"
    log.write_bytes(b"one\n")
    an_hour_ago = time.time() - 3600
    following = log_file.follow(str(log))
    next(following)
    assert next(following)[1] < SECONDS
    os.utime(log, (an_hour_ago, an_hour_ago))
    silent = log_file.follow(str(log))
    next(silent)
    # what was just read may be as old as the file itself
    assert 3590 < next(silent)[1] < 3600 + SECONDS


def test_standard_input_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    read, write = os.pipe()
    with os.fdopen(read, "rb") as source, os.fdopen(write, "wb") as sink:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(source))
        following = log_file.follow("-")
        sink.write(b"one\n")
        sink.flush()
        until(following, b"one\n")
        assert next(following)[0] == b""
        sink.close()
        assert list(following) == []


NO_LOG = {
    "missing": "No such file or directory",
    "dangling": "No such file or directory",
    "loop": "Too many levels of symbolic links",
    "folder": "a folder, not a log file",
    "socket": "a socket, not a log file",
    "device": "a device, not a log file",
    "pipe": "a pipe into which nobody writes",
}


@pytest.mark.parametrize("kind", NO_LOG)
def test_no_log(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "log"
    put(path, kind)
    for read in (log_file.chunks, log_file.follow):
        with pytest.raises(UsageError) as caught:
            next(iter(read(str(path))))
        assert caught.value.code == "unreadable_log"
        assert caught.value.message == f"{path}: {NO_LOG[kind]}"


def test_a_pipe_whose_writer_is_slow_is_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    both = os.open(tmp_path / "pipe", os.O_RDWR)
    with log_file._opened(str(tmp_path / "pipe")) as source:
        os.write(both, b"one\n")
        os.close(both)
        assert source.read() == b"one\n"
