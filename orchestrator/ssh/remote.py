"""How does a machine at the other end of an SSH connection serve as the host?"""

from __future__ import annotations

import contextlib
import posixpath
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import paramiko
from paramiko.ssh_exception import SSHException

from orchestrator.errors import HostError
from orchestrator.ssh.driven import DrivenHost
from orchestrator.ssh.files import beside, cannot_read, cannot_write, no_such_file
from orchestrator.ssh.pipes import Pipes, connection_lost, remaining
from orchestrator.ssh.quoting import through_login_shell

_CHUNK = 128 * 1024  # bytes
_OPENING = 30.0  # seconds: to open a channel on a connection that was alive a moment ago
_STILL = 60.0  # seconds: the longest silence of the file service in the middle of a transfer
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
        self._sftp: paramiko.SFTPClient | None = None
        self._files = threading.Lock()

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
            raise HostError("deadline", f"{self.name} did not answer within {_OPENING:g} s.") from None
        except paramiko.ChannelException as error:
            raise HostError(
                "channel_refused",
                f"{self.name} refused another channel on this connection: {error.text}.",
                next_command="raise MaxSessions in the host's sshd_config",
            ) from None
        except (SSHException, EOFError, OSError) as error:
            raise connection_lost(self.name, str(error)) from None

    def get(self, path: str) -> bytes:
        with self._file_service() as service:
            try:
                with service.open(path, "rb") as file:
                    file.prefetch()
                    return file.read()
            except FileNotFoundError:
                raise no_such_file(self.name, path) from None
            except OSError as error:
                self._blame_the_file(error)
                raise cannot_read(self.name, path, _reason(error)) from None

    def put(self, path: str, data: bytes, *, mode: int = 0o600) -> None:
        folder, name = posixpath.split(path)
        temporary = posixpath.join(folder, beside(name))
        with self._file_service() as service:
            try:
                self._write(service, temporary, data, mode)
                service.posix_rename(temporary, path)
            except OSError as error:
                self._blame_the_file(error)
                with contextlib.suppress(OSError, SSHException):
                    service.remove(temporary)
                raise cannot_write(self.name, path, _reason(error)) from None

    def _write(self, service: paramiko.SFTPClient, path: str, data: bytes, mode: int) -> None:
        with service.open(path, "wx") as file:
            file.chmod(0o600)  # before the first byte: nobody reads along
            file.set_pipelined(True)
            file.write(data)
            file.set_pipelined(False)
            file.chmod(mode)

    @contextmanager
    def _file_service(self) -> Iterator[paramiko.SFTPClient]:
        with self._files, self._connected():
            try:
                if self._sftp is None:
                    channel = self._transport.open_session(timeout=_OPENING)
                    channel.settimeout(_STILL)
                    channel.invoke_subsystem("sftp")
                    self._sftp = paramiko.SFTPClient(channel)
                yield self._sftp
            except HostError:
                raise
            except BaseException:  # half an answer may be under way: the next one starts afresh
                if self._sftp is not None:
                    self._sftp.close()
                self._sftp = None
                raise

    def _blame_the_file(self, error: OSError) -> None:
        """Raise a fault of the connection again as what it is."""
        if isinstance(error, TimeoutError) or not self._transport.is_active():
            raise error

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
        self._channel.sendall(data)

    def end_input(self) -> None:
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
        self._channel.close()

    def discard(self) -> None:
        self._channel.close()


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


def _reason(error: OSError) -> str:
    return error.strerror or str(error) or type(error).__name__
