"""How does a machine at the other end of an SSH connection serve as the host?"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import paramiko
from paramiko.ssh_exception import SSHException

from orchestrator.base.errors import HostError
from orchestrator.hosts.driven import DrivenHost
from orchestrator.hosts.pipes import Pipes, connection_lost, remaining
from orchestrator.hosts.quoting import through_login_shell

_CHUNK = 128 * 1024  # bytes
_OPENING = 30.0  # seconds: to open a channel on a connection that was alive a moment ago
_LAST_WORDS = 5.0  # seconds: between the end of a program's output and its status
_DYING = 0.5  # seconds: between the end of the channels and the end of their transport
_SOME_SIGNAL = 128


class RemoteHost(DrivenHost):
    """A host behind an authenticated transport; `hang_up` closes it and the jumps before it."""

    def __init__(
        self, name: str, transport: paramiko.Transport, hang_up: Callable[[], None], python: str = "python3"
    ) -> None:
        super().__init__(name, python)
        self._transport = transport
        self._hang_up = hang_up

    def open_shell(self) -> Pipes:
        return self._start("exec /bin/sh")

    def open_program(self, command: str) -> Pipes:
        return self._start(through_login_shell(command))

    def _start(self, line: str) -> Pipes:
        with self._connected():
            channel = self._transport.open_session(timeout=_OPENING)
            pipes = ChannelPipes(self.name, channel)
            try:
                channel.exec_command(line)
            except BaseException:
                channel.close()
                raise
            return pipes

    @contextmanager
    def _connected(self) -> Iterator[None]:
        try:
            yield
        except TimeoutError:
            raise HostError(
                "deadline",
                f"{self.name} did not answer within {_OPENING:g} s.",
                next_command=f"uptime  # on {self.name}: it answers too slowly; the same command resumes",
            ) from None
        except paramiko.ChannelException as error:
            raise HostError(
                "channel_refused",
                f"{self.name} refused another channel on this connection: {error.text}.",
                next_command=f"sudo sshd -T | grep -i maxsessions  # on {self.name}: raise MaxSessions",
            ) from None
        except (SSHException, EOFError, OSError) as error:
            raise connection_lost(self.name, str(error)) from None

    def close(self) -> None:
        super().close()
        self._hang_up()


class ChannelPipes(Pipes):
    """A session channel. Its two outputs share one flow-control window, so both are always drained."""

    def __init__(self, host: str, channel: paramiko.Channel) -> None:
        self._host = host
        self._channel = channel
        self._bell = Bell()
        channel.in_buffer.set_event(self._bell)  # type: ignore[arg-type]
        channel.in_stderr_buffer.set_event(self._bell)  # type: ignore[arg-type]

    def send(self, data: bytes, until: float | None = None) -> None:
        self._channel.settimeout(remaining(until))
        with _broken_pipe():
            self._channel.sendall(data)

    def end_input(self) -> None:
        with _broken_pipe():
            self._channel.shutdown_write()

    def receive(self, until: float | None = None) -> tuple[bytes, bytes] | None:
        channel = self._channel
        while True:
            self._bell.hush()
            ended = channel.eof_received or channel.closed
            out = channel.recv(_CHUNK) if channel.recv_ready() else b""
            err = channel.recv_stderr(_CHUNK) if channel.recv_stderr_ready() else b""
            if out or err:
                return out, err
            if ended:
                return None
            self._bell.wait(remaining(until))

    def status(self, until: float | None = None) -> int:
        limit = remaining(until)
        self._channel.status_event.wait(_LAST_WORDS if limit is None else min(limit, _LAST_WORDS))
        if self._channel.exit_status >= 0:
            return self._channel.exit_status
        # paramiko does not tell which signal ended a program, nor that apart from the end of the connection.
        transport = self._channel.get_transport()
        transport.join(_DYING)
        if transport.is_alive():
            return _SOME_SIGNAL
        raise connection_lost(self._host)

    def close(self) -> None:
        with contextlib.suppress(SSHException, EOFError, OSError):  # nobody is there to be told
            self._channel.close()

    def discard(self) -> None:
        self.close()


@contextmanager
def _broken_pipe() -> Iterator[None]:
    """Where the connection ends under its hands paramiko raises EOFError, which click takes for Ctrl-C."""
    try:
        yield
    except (SSHException, EOFError) as error:
        raise BrokenPipeError(str(error)) from None


class Bell:
    """An event that the buffers of a channel ring and never silence: both share it."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def set(self) -> None:
        self._event.set()

    def clear(self) -> None:
        """A buffer that was emptied says nothing about the other one."""

    def is_set(self) -> bool:
        return self._event.is_set()

    def hush(self) -> None:
        self._event.clear()

    def wait(self, seconds: float | None) -> None:
        self._event.wait(seconds)
