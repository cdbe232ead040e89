"""A command on a terminal of its own: what it wrote and when, with keys that can be pressed.

with OnTerminal(argv, environment) as command:
    command.wait_for("launch 1")
    command.press(b"\\x03")              # Ctrl-C
    assert command.end() == 130
    assert command.computed_before_first_word < 2.0
    assert command.longest_silence() < 2.0
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
import re
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Mapping, Sequence
from types import TracebackType

from orchestrator.on_host.processes import procs
from tests.waiting import PATIENCE_SECONDS

_OWN_TERMINAL = "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
_SEQUENCE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class OnTerminal:
    """A running command whose standard streams are a pseudo-terminal."""

    def __init__(
        self,
        argv: Sequence[str],
        environment: Mapping[str, str],
        *,
        columns: int = 80,
        rows: int = 40,
        term: str = "xterm-256color",
    ) -> None:
        self._terminal, theirs = os.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.process = subprocess.Popen(
            [sys.executable, "-c", _OWN_TERMINAL, *argv],
            env={**environment, "TERM": term},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        self._written: list[tuple[float, str]] = []
        self.computed_before_first_word = 0.0
        """Seconds of processor time, which do not depend on what else the machine does."""
        self._changed = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> OnTerminal:
        self._reader.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._reader.join()
        os.close(self._terminal)

    @property
    def raw(self) -> str:
        return "".join(text for _, text in self._written)

    @property
    def text(self) -> str:
        """Everything that was ever shown, without the sequences that coloured and moved it."""
        return _SEQUENCE.sub("", self.raw).replace("\r", "\n")

    def wait_for(self, text: str, seconds: float = PATIENCE_SECONDS) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: text in self.text, seconds), self.text

    def press(self, keys: bytes) -> None:
        os.write(self._terminal, keys)

    def end(self, seconds: float = PATIENCE_SECONDS) -> int:
        """The exit code, once everything that was written has been read."""
        code = self.process.wait(seconds)
        self._reader.join(seconds)
        return code

    def longest_silence(self) -> float:
        """Seconds between two writes, from the first one on, and (while it runs) until now. How soon the first one comes
        is a matter of how fast the machine imports: `computed_before_first_word` asks for that."""
        times = [at for at, _ in self._written]
        if self.process.poll() is None:
            times.append(time.monotonic())
        return max(later - earlier for earlier, later in itertools.pairwise(times))

    def _read(self) -> None:
        with contextlib.suppress(OSError):  # Linux says EIO when the last writer has gone
            while data := os.read(self._terminal, 65536):
                with self._changed:
                    if not self._written:
                        self.computed_before_first_word = procs.cpu_seconds(self.process.pid)
                    self._written.append((time.monotonic(), data.decode(errors="replace")))
                    self._changed.notify_all()
