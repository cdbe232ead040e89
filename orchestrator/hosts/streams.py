"""How is a running program on a channel of its own read and written?"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable, Iterator
from typing import Any

from orchestrator.hosts.answers import Program, no_answer, read_line
from orchestrator.hosts.host import ScriptStream, Stream
from orchestrator.hosts.pipes import Pipes

_KEPT_STDERR = 16 * 1024  # bytes: enough for a message, little enough for a program that never stops talking


class Channel:
    """The output of a program from where it really starts: noise of rc files before it is dropped.

    `open_pipes` takes the sh text to run. Chunks come until the program ends or `close` is called.
    """

    def __init__(self, open_pipes: Callable[[str], Pipes], command: str) -> None:
        first, second = secrets.token_hex(12), secrets.token_hex(12)
        self._start: bytes | None = f"{first}{second}\n".encode("ascii")
        # `exit $?` keeps the shell: it turns a signal that ends the program into a status 128 + N.
        self._pipes = open_pipes(f"printf '%s%s\\n' {first} {second}\n{command}\nexit $?")
        self._closed = False
        self.stderr = b""

    def chunks(self, until: float | None = None) -> Iterator[bytes]:
        """Raises TimeoutError past `until`, HostError("connection_lost")."""
        held = b""
        while not self._closed:
            pair = self._pipes.receive(until)
            if pair is None:
                return
            out, err = pair
            self.stderr = (self.stderr + err)[-_KEPT_STDERR:]
            if self._start is not None:
                held += out
                before, start, out = held.partition(self._start)
                if not start:
                    held = before[-len(self._start) :]
                    continue
                self._start = None
            if out:
                yield out

    def write(self, data: bytes, until: float | None = None) -> None:
        """A program that reads no longer is no error: its end is seen in its output."""
        if self._closed:
            return
        try:
            self._pipes.send(data, until)
        except TimeoutError:
            raise
        except OSError:
            return

    def end_input(self) -> None:
        with contextlib.suppress(OSError):
            self._pipes.end_input()

    def status(self, until: float | None = None) -> int:
        return self._pipes.status(until)

    @property
    def closed(self) -> bool:
        return self._closed

    def close(self) -> None:
        self._closed = True
        self._pipes.close()

    def discard(self) -> None:
        self._closed = True
        self._pipes.discard()


class ByteStream(Stream):
    """A command's output as bytes."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    def chunks(self) -> Iterator[bytes]:
        yield from self._channel.chunks()
        if not self._channel.closed:
            self._channel.status()  # tells a lost connection from a command that ended

    def write(self, data: bytes) -> None:
        self._channel.write(data)

    def close(self) -> None:
        self._channel.close()


class AnswerStream(ScriptStream):
    """The answers of a program that answers several times."""

    def __init__(self, channel: Channel, program: Program) -> None:
        self._channel = channel
        self._program = program

    def values(self) -> Iterator[Any]:
        for line in lines(self._channel.chunks()):
            answer = read_line(self._program, line)
            if answer is not None:
                yield answer.value
        if self._channel.closed:
            return
        if status := self._channel.status():
            raise no_answer(self._program, status, self._channel.stderr, None)

    def write(self, data: bytes) -> None:
        self._channel.write(data)

    def close(self) -> None:
        self._channel.close()


def lines(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Whole lines without their newline; a last line without one counts too."""
    held = bytearray()
    for chunk in chunks:
        held += chunk
        if b"\n" not in chunk:
            continue
        *whole, rest = bytes(held).split(b"\n")
        held = bytearray(rest)
        yield from whole
    if held:
        yield bytes(held)
