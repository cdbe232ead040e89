"""How does this process serve as a host that real SSH clients reach, without root and without sshd?

Commands run as this user's own subprocesses, in an environment that holds nothing of the caller's.
"""

from __future__ import annotations

import contextlib
import getpass
import logging
import os
import select
import socket
import subprocess
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import IO

import paramiko

ALIAS = "rehearsal"
"""The name under which its ssh_config knows the host."""

_CHUNK = 32 * 1024  # bytes
_BANNER_SECONDS = 15.0
_REPLY_SECONDS = 0.03
_CLIENTS = 100
_CHANNEL_GONE = (OSError, EOFError, paramiko.SSHException)

logging.getLogger("paramiko").addHandler(logging.NullHandler())


class SshServer:
    """A server on loopback with keys of its own; `ssh_config` is all that a client needs.

    `folder` takes keys, ssh_config and known_hosts; `environment` is everything that commands see.
    """

    def __init__(self, folder: Path, environment: Mapping[str, str], *, alias: str = ALIAS) -> None:
        self.folder = folder
        self.environment = dict(environment)
        self.alias = alias
        self.host_key = paramiko.ECDSAKey.generate()
        self.client_key = paramiko.ECDSAKey.generate()
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=_CLIENTS)
        self.port = int(self._socket.getsockname()[1])
        self._transports: list[paramiko.Transport] = []
        self._write_files()

    @property
    def ssh_config(self) -> str:
        return str(self.folder / "ssh_config")

    @property
    def known_hosts(self) -> Path:
        return self.folder / "known_hosts"

    def __enter__(self) -> SshServer:
        self._begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Take no more connections and end those that are there."""
        self._closing.set()
        with contextlib.suppress(OSError):  # wakes `accept`
            socket.create_connection(("127.0.0.1", self.port), timeout=1.0).close()
        self._thread.join()
        self._socket.close()
        for transport in self._transports:
            transport.close()
        for transport in self._transports:
            transport.join(1.0)

    def reopen(self) -> None:
        """Be there again after `close`, at the same port and with the same keys."""
        self._socket = socket.create_server(("127.0.0.1", self.port), backlog=_CLIENTS)
        self._begin()

    def _begin(self) -> None:
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def _write_files(self) -> None:
        key = self.folder / "client_key"
        self.client_key.write_private_key_file(str(key))
        line = f"[127.0.0.1]:{self.port} {self.host_key.get_name()} {self.host_key.get_base64()}\n"
        self.known_hosts.write_text(line)
        settings = {
            "HostName": "127.0.0.1",
            "Port": str(self.port),
            "User": getpass.getuser(),
            "IdentityFile": f'"{key}"',
            "IdentitiesOnly": "yes",
            "IdentityAgent": "none",
            "UserKnownHostsFile": f'"{self.known_hosts}"',
            "GlobalKnownHostsFile": "/dev/null",
            "StrictHostKeyChecking": "yes",
        }
        lines = [f"    {name} {value}" for name, value in settings.items()]
        Path(self.ssh_config).write_text("\n".join([f"Host {self.alias}", *lines, ""]))

    def _accept(self) -> None:
        while True:
            with contextlib.suppress(OSError):
                connection, _ = self._socket.accept()
                if self._closing.is_set():
                    connection.close()
                    return
                self._greet(connection)

    def _greet(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        transport = paramiko.Transport(connection)
        transport.banner_timeout = _BANNER_SECONDS
        transport.add_server_key(self.host_key)
        self._transports = [living for living in self._transports if living.is_alive()] + [transport]
        # an event makes this return at once: a client that never speaks must not hold up the others
        transport.start_server(event=threading.Event(), server=Session(self))


class Session(paramiko.ServerInterface):
    """One connection: lets in the one key, and starts a program for every channel that asks for one."""

    def __init__(self, server: SshServer) -> None:
        self._server = server

    def get_allowed_auths(self, username: str) -> str:
        return "publickey"

    def check_auth_publickey(self, username: str, key: paramiko.PKey) -> int:
        known = username == getpass.getuser() and key == self._server.client_key
        return paramiko.AUTH_SUCCESSFUL if known else paramiko.AUTH_FAILED  # type: ignore[attr-defined,no-any-return]

    def check_channel_request(self, kind: str, chanid: int) -> int:
        if kind == "session":
            return paramiko.OPEN_SUCCEEDED  # type: ignore[attr-defined,no-any-return]
        return paramiko.OPEN_FAILED_ADMINISTRATIVELY_PROHIBITED  # type: ignore[attr-defined,no-any-return]

    def check_channel_exec_request(self, channel: paramiko.Channel, command: bytes) -> bool:
        return self._start(channel, [b"/bin/sh", b"-c", command])

    def check_channel_shell_request(self, channel: paramiko.Channel) -> bool:
        return self._start(channel, [b"/bin/sh"])

    def _start(self, channel: paramiko.Channel, argv: list[bytes]) -> bool:
        program = ChannelProcess(channel, argv, self._server.environment)
        threading.Thread(target=program.run, daemon=True).start()
        return True


class ChannelProcess:
    """A subprocess behind a channel, as sshd keeps it: the channel's end closes its pipes and nothing more."""

    def __init__(self, channel: paramiko.Channel, argv: list[bytes], environment: Mapping[str, str]) -> None:
        self._channel = channel
        self._argv = argv
        self._environment = environment

    def run(self) -> None:
        began = time.monotonic()
        process = subprocess.Popen(
            self._argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            cwd=self._environment["HOME"],
            env=self._environment,
            start_new_session=True,
        )
        assert process.stdin and process.stdout and process.stderr
        gone, tell_gone = os.pipe()
        feeder = threading.Thread(target=self._feed, args=(process.stdin, tell_gone), daemon=True)
        feeder.start()
        with process.stdout, process.stderr:
            self._drain(process.stdout.fileno(), process.stderr.fileno(), gone)
        code = process.wait()
        # The reply to the request leaves on another thread: a channel that closes before it never was.
        time.sleep(max(0.0, began + _REPLY_SECONDS - time.monotonic()))
        with contextlib.suppress(*_CHANNEL_GONE):
            if code >= 0:  # of a program that a signal ended no status is told
                self._channel.send_exit_status(code)
            self._channel.shutdown_write()
        with contextlib.suppress(*_CHANNEL_GONE):
            self._channel.close()
        feeder.join()
        os.close(gone)
        os.close(tell_gone)

    def _feed(self, pipe: IO[bytes], tell_gone: int) -> None:
        """What the client sends, until it sends no more; what nobody reads any more is dropped."""
        wanted = True
        with contextlib.suppress(OSError):
            while data := self._channel.recv(_CHUNK):
                wanted = wanted and _write_all(pipe.fileno(), data)
        with contextlib.suppress(OSError):
            pipe.close()
        self._channel.status_event.wait()  # set when the channel closes
        os.write(tell_gone, b"x")

    def _drain(self, stdout: int, stderr: int, gone: int) -> None:
        """What the program prints, until it prints no more or the channel is gone."""
        sends = {stdout: self._channel.sendall, stderr: self._channel.sendall_stderr}
        poll = select.poll()
        for descriptor in (*sends, gone):
            poll.register(descriptor, select.POLLIN)
        while sends:
            for descriptor, _ in poll.poll():
                if descriptor == gone:
                    return
                data = os.read(descriptor, _CHUNK)
                if not data:
                    poll.unregister(descriptor)
                    del sends[descriptor]
                    continue
                try:
                    sends[descriptor](data)
                except _CHANNEL_GONE:
                    return


def _write_all(descriptor: int, data: bytes) -> bool:
    try:
        while data:
            data = data[os.write(descriptor, data) :]
    except OSError:
        return False
    return True
