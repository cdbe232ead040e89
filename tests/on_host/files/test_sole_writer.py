"""Who writes in a folder is alone there, as far as its file system can tell."""

from __future__ import annotations

import errno
import fcntl
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.on_host.files.sole_writer import locked


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[int]:
    descriptor = os.open(tmp_path, os.O_RDONLY)
    yield descriptor
    os.close(descriptor)


def test_the_second_waits_as_long_as_it_was_told(folder: int, tmp_path: Path) -> None:
    first = os.open(tmp_path, os.O_RDONLY)
    assert locked(first)
    assert not locked(folder)
    threading.Timer(0.05, os.close, [first]).start()
    assert locked(folder, patience_seconds=30)


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_file_system_without_locks_keeps_nobody_out(
    number: int, folder: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", refuse)
    assert locked(folder)


def test_another_failure_is_told(folder: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.EIO, "input/output error")

    monkeypatch.setattr(fcntl, "flock", fail)
    with pytest.raises(OSError, match="input/output error"):
        locked(folder)
