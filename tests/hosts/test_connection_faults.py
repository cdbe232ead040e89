"""Connections over real servers that fail, or over which more comes than was asked for."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from orchestrator.base.errors import HostError
from orchestrator.hosts.connect import open_host
from orchestrator.hosts.host import Host
from tests.hosts.connecting import Start, greet, refused, write_config
from tests.ports import free_port
from tests.sshd import Settings, Sshd
from tests.waiting import PATIENCE_SECONDS, eventually


class TestFaults:
    def test_nobody_listens(self, sshd: Sshd) -> None:
        port = free_port()
        error = refused(f"127.0.0.1:{port}", ssh_config=sshd.ssh_config)
        assert error.code == "host_unreachable"
        assert f"127.0.0.1 port {port}" in error.message
        assert "refused" in error.message

    def test_a_name_that_means_nothing(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def unknown(*args: object, **options: object) -> object:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

        monkeypatch.setattr(socket, "getaddrinfo", unknown)
        error = refused("nowhere.invalid", ssh_config=write_config(tmp_path, ""))
        assert error.code == "host_unreachable"
        assert "nowhere.invalid port 22" in error.message
        assert "resolved" in error.message

    def test_a_server_that_says_nothing(self, sshd: Sshd) -> None:
        with socket.create_server(("127.0.0.1", 0)) as mute:
            started = time.monotonic()
            error = refused(f"127.0.0.1:{mute.getsockname()[1]}", ssh_config=sshd.ssh_config, timeout=0.5)
        assert error.code == "host_unreachable"
        assert time.monotonic() - started < 5

    def test_every_address_of_a_name_is_tried(
        self, sshd: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        no_route, found = ("255.255.255.255", sshd.port), ("127.0.0.1", sshd.port)
        stanza = sshd.host_stanza(HostName="two.example", HostKeyAlias=f"[127.0.0.1]:{sshd.port}")
        monkeypatch.setattr(
            socket,
            "getaddrinfo",
            lambda *_, **__: [(socket.AF_INET, socket.SOCK_STREAM, 6, "", at) for at in (no_route, found)],
        )
        assert greet(open_host(sshd.alias, ssh_config=write_config(tmp_path, stanza))) == b"hello\n"

    def test_a_fault_prints_nothing(self, sshd: Sshd) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            address = f"127.0.0.1:{listener.getsockname()[1]}"
            code = (
                "import sys; from orchestrator.hosts.connect import open_host\n"
                "try: open_host(sys.argv[1], ssh_config=sys.argv[2], timeout=0.2)\n"
                "except Exception as error: print(error.code)"
            )
            command = [sys.executable, "-c", code, address, sshd.ssh_config]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert (done.stdout, done.stderr) == ("host_unreachable\n", "")

    def test_a_fault_below_ssh_is_tried_again(self, sshd: Sshd, tmp_path: Path) -> None:
        with dropping_first(2, sshd.port) as port:
            stanza = sshd.host_stanza(Port=str(port), HostKeyAlias=f"[127.0.0.1]:{sshd.port}")
            assert greet(open_host(sshd.alias, ssh_config=write_config(tmp_path, stanza))) == b"hello\n"

    def test_a_connection_that_dies_under_a_command(self, start_sshd: Start) -> None:
        server = start_sshd(Settings())
        host = open_host(server.alias, ssh_config=server.ssh_config)
        stream = host.stream(["sh", "-c", "echo ready; exec cat"])
        chunks = stream.chunks()
        assert next(chunks) == b"ready\n"
        caught: list[BaseException] = []

        def wait_long() -> None:
            try:
                host.run("echo started; sleep 30", deadline=20)
            except HostError as error:
                caught.append(error)

        running = threading.Thread(target=wait_long)
        running.start()
        eventually(lambda: host._shell is not None)  # type: ignore[attr-defined]
        for pid in server.session_pids():
            with suppress(ProcessLookupError):
                os.kill(pid, 9)
        running.join(PATIENCE_SECONDS)
        assert [getattr(error, "code", None) for error in caught] == ["connection_lost"]
        with pytest.raises(HostError) as lost:
            list(chunks)
        assert lost.value.code == "connection_lost"
        for call in (
            lambda: host.run("true"),
            lambda: host.stream(["true"]),
            lambda: host.script("echo", {}, private=True),
        ):
            with pytest.raises(HostError) as lost:
                call()
            assert lost.value.code == "connection_lost"
        stream.close()
        host.close()
        host.close()


NOISE = "printf 'banner without newline'; echo noise >&2; head -c 300000 /dev/zero; "


class TestNoise:
    """Login shells whose rc files print and whose user has a shell of his own mind."""

    def test_a_login_shell_that_prints(self, start_sshd: Start) -> None:
        wrapper = NOISE + 'eval "$SSH_ORIGINAL_COMMAND"'
        quoted = wrapper.replace('"', '\\"')
        server = start_sshd(Settings(key_prefix=f'command="{quoted}"'))
        with open_host(server.alias, ssh_config=server.ssh_config) as host:
            assert host.run("echo out; echo err >&2").stdout == b"out\n"
            assert host.run("echo err >&2").stderr == b"err\n"
            assert host.script("echo", {"a": 1}) == {"a": 1}
            assert host.script("echo", {"a": 2}, private=True) == {"a": 2}
            assert list(host.stream_script("echo", {"a": 3}).values()) == [{"a": 3}]
            assert b"".join(host.stream(["echo", "out"]).chunks()) == b"out\n"

    def test_an_rc_file_that_prints(self, start_sshd: Start, tmp_path: Path) -> None:
        rc = tmp_path / "rc"
        rc.write_text(NOISE)
        server = start_sshd(Settings(environment={"BASH_ENV": str(rc)}))
        with open_host(server.alias, ssh_config=server.ssh_config) as host:
            assert host.run("bash -c 'echo out'").stdout.endswith(b"out\n")
            assert host.run("echo out").stdout == b"out\n"
            assert host.script("echo", {"a": 1}, private=True) == {"a": 1}


class TestRoundTrips:
    def test_a_few_commands_are_a_few_packets(self, sshd: Sshd, tmp_path: Path) -> None:
        """Shell and runner cost a channel once; whatever follows is one question and one answer."""
        with open_host(sshd.alias, ssh_config=sshd.ssh_config) as host:
            host.run("true")
            host.script("echo", {})
            with counted_waits(host) as waits:
                for _ in range(5):
                    host.run("echo some output; echo more >&2")
                    host.script("echo", {"a": 1})
        assert waits == []


@contextmanager
def counted_waits(host: Host) -> Iterator[list[str]]:
    """Every channel that is opened, since each costs waits of its own."""
    transport = host._transport  # type: ignore[attr-defined]
    opened: list[str] = []
    real = transport.open_channel

    def open_channel(kind: str, *args: object, **options: object) -> object:
        opened.append(kind)
        return real(kind, *args, **options)

    transport.open_channel = open_channel
    try:
        yield opened
    finally:
        transport.open_channel = real


@contextmanager
def dropping_first(number: int, port: int) -> Iterator[int]:
    """A port that drops its first connections, then relays one to `port`."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        for _ in range(number):
            listener.accept()[0].close()
        client, _ = listener.accept()
        with client, socket.create_connection(("127.0.0.1", port)) as server:
            back = threading.Thread(target=relay, args=(server, client))
            back.start()
            relay(client, server)
            back.join()

    def relay(source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):  # either end may reset the connection
            while data := source.recv(65536):
                sink.sendall(data)
        with suppress(OSError):
            sink.shutdown(socket.SHUT_RDWR)

    serving = threading.Thread(target=serve)
    serving.start()
    try:
        yield listener.getsockname()[1]
    finally:
        serving.join(PATIENCE_SECONDS)
        listener.close()
