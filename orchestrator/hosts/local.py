"""How does this machine itself serve as the host, without SSH?"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import threading
from pathlib import Path

from orchestrator.hosts.driven import DrivenHost
from orchestrator.hosts.pipes import Pipes, connection_lost, remaining
from orchestrator.hosts.target import LOCAL

_CHUNK = 64 * 1024  # bytes: what a pipe holds
_PATIENCE = 2.0  # seconds for a program to end after its input did


class LocalHost(DrivenHost):
    """This machine, in the person's home folder, as a login over SSH would be."""

    def __init__(self, python: str = sys.executable) -> None:
        super().__init__(LOCAL, python)
        self.address = "127.0.0.1"
        self._open: set[ProcessPipes] = set()
        self._opening = threading.Lock()

    def open_shell(self) -> Pipes:
        return self._start(["/bin/sh"])

    def open_program(self, command: str) -> Pipes:
        return self._start(["/bin/sh", "-c", command])

    def _start(self, argv: list[str]) -> ProcessPipes:
        pipes = ProcessPipes(argv)
        with self._opening:
            self._open = {other for other in self._open if not other.closed} | {pipes}
        return pipes

    def close(self) -> None:
        super().close()
        with self._opening:
            left, self._open = self._open, set()
        for pipes in left:
            pipes.close()


class ProcessPipes(Pipes):
    """A child process in a session of its own: a signal from the terminal does not reach it."""

    def __init__(self, argv: list[str]) -> None:
        home = _home()
        self._process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=home if home.is_dir() else "/",
            start_new_session=True,
            bufsize=0,
        )
        assert self._process.stdin and self._process.stdout and self._process.stderr
        self._input = self._process.stdin
        self._output = self._process.stdout.fileno()
        self._error = self._process.stderr.fileno()
        os.set_blocking(self._input.fileno(), False)
        self._ended: set[int] = set()
        self._wake_read, self._wake_write = os.pipe()
        self._reading = threading.Lock()
        self._writing = threading.Lock()
        self._closing = threading.Lock()
        self.closed = False

    def send(self, data: bytes, until: float | None = None) -> None:
        rest = memoryview(data)
        with self._writing:
            while rest:
                if self.closed or self._input.closed:
                    raise BrokenPipeError
                self._wait([(self._input.fileno(), select.POLLOUT)], until)
                with contextlib.suppress(BlockingIOError):
                    rest = rest[os.write(self._input.fileno(), rest[:_CHUNK]) :]

    def end_input(self) -> None:
        with self._writing:
            self._input.close()

    def receive(self, until: float | None = None) -> tuple[bytes, bytes] | None:
        with self._reading:
            while not self.closed:
                waiting = [fd for fd in (self._output, self._error) if fd not in self._ended]
                if not waiting:
                    return None
                ready = self._wait([(fd, select.POLLIN) for fd in waiting], until)
                got = {fd: os.read(fd, _CHUNK) for fd in waiting if fd in ready}
                self._ended |= {fd for fd, data in got.items() if not data}
                pair = got.get(self._output, b""), got.get(self._error, b"")
                if any(pair):
                    return pair
            return None

    def _wait(self, wanted: list[tuple[int, int]], until: float | None) -> set[int]:
        poll = select.poll()
        for fd, events in wanted:
            poll.register(fd, events)
        poll.register(self._wake_read, select.POLLIN)
        left = remaining(until)
        ready = poll.poll(None if left is None else max(1, round(left * 1000)))
        return {fd for fd, _ in ready}

    def status(self, until: float | None = None) -> int:
        try:
            rc = self._process.wait(remaining(until))
        except subprocess.TimeoutExpired:
            raise TimeoutError from None
        except ChildProcessError:  # pragma: no cover - somebody else reaped our child
            raise connection_lost(LOCAL) from None
        return rc if rc >= 0 else 128 - rc

    def close(self) -> None:
        """A program that lives by its input ends; one that does not is ended after a moment."""
        self._close(patience=_PATIENCE)

    def discard(self) -> None:
        self._close(patience=0.0)

    def _close(self, patience: float) -> None:
        with self._closing:
            if self.closed:
                return
            self.closed = True
            os.write(self._wake_write, b"x")  # lets go of a reader and a writer in other threads
            with self._writing, self._reading:
                self._input.close()
                for pipe in (self._process.stdout, self._process.stderr):
                    if pipe is not None:
                        pipe.close()
                os.close(self._wake_read)
                os.close(self._wake_write)
            self._end(patience)

    def _end(self, patience: float) -> None:
        try:
            self._process.wait(patience)
        except subprocess.TimeoutExpired:
            # The process was not reaped, so the number of its session cannot have gone to another.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()


def _home() -> Path:
    return Path(os.environ.get("HOME") or "/")
