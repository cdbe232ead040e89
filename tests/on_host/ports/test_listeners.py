"""Who listens on a port."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator

import pytest

from orchestrator.on_host.ports import listeners, sock_diag
from orchestrator.on_host.ports.listeners import Listener

TCP = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F40 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 11 1 0 100 0 0 10 0
   1: 00000000:1F41 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 12 1 0 100 0 0 10 0
   2: 0100007F:1F40 0100007F:9C40 01 00000000:00000000 00:00000000 00000000  1000        0 13 1 0 20 4 30 10 -1
"""
TCP6 = """\
  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000000000000000000000000000:1F40 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 21 1 0
   1: 00000000000000000000000001000000:1F42 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 22 1 0
   2: 0000000000000000FFFF00000100007F:1F43 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 23 1 0
"""
ERROR = struct.pack("=IHHIIi", 20, 2, 0, 1, 0, -93)
INTERRUPTED = struct.pack("=IHHIIi", 20, 3, 0x12, 1, 0, 0)
HALF = struct.pack("=IHHII", 88, 20, 2, 1, 0) + bytes(30)


def test_only_listening_sockets_are_read() -> None:
    assert listeners.parse(TCP) == [Listener("127.0.0.1", 8000, 1000, 11), Listener("0.0.0.0", 8001, 0, 12)]
    assert listeners.parse(TCP6) == [
        Listener("::", 8000, 1000, 21),
        Listener("::1", 8002, 1000, 22),
        Listener("127.0.0.1", 8003, 1000, 23),
    ]
    assert listeners.parse("") == []


def test_the_kernel_answers_what_its_files_say() -> None:
    families = {"127.0.0.1": socket.AF_INET, "::1": socket.AF_INET6, "::ffff:127.0.0.1": socket.AF_INET6}
    with contextlib.ExitStack() as stack:
        ports = set()
        for address, family in families.items():
            own = stack.enter_context(socket.socket(family))
            own.bind((address, 0))
            own.listen()
            ports.add(own.getsockname()[1])
        far = stack.enter_context(
            socket.create_connection(own.getsockname()[:2])
        )  # has the port too, and does not listen
        try:
            asked = [Listener(*found) for found in sock_diag.listening()]
        except OSError as error:
            pytest.skip(f"no sock_diag here: {error}")
        read = listeners.in_files()
        assert far.getpeername()[1] in ports
    ours = [{listener for listener in found if listener.port in ports} for found in (asked, read)]
    assert ours[0] == ours[1]
    assert {listener.address for listener in ours[0]} == {"127.0.0.1", "::1"}


@pytest.mark.parametrize("answer", [b"\0", b"\xff" * 40, ERROR, INTERRUPTED, HALF])
def test_what_is_no_whole_answer_of_the_kernel_is_read_from_its_files(
    monkeypatch: pytest.MonkeyPatch, answer: bytes
) -> None:
    class Kernel(socket.socket):
        def recv(self, *_: object) -> bytes:
            return answer

    monkeypatch.setattr(sock_diag.socket, "socket", Kernel)
    monkeypatch.setattr(listeners, "in_files", lambda: ["what the files say"])
    assert listeners.everywhere() == ["what the files say"]


@pytest.mark.parametrize(
    ("host", "port", "inodes"),
    [
        ("127.0.0.1", 8000, [11]),
        ("localhost", 8000, [11]),
        ("10.0.0.5", 8000, [21]),
        ("127.0.0.1", 8001, [12]),
        ("127.0.0.1", 8002, []),
        ("::1", 8002, [22]),
        ("127.0.0.1", 8003, [23]),
        ("127.0.0.1", 80, []),
    ],
)
def test_the_exact_address_answers_before_the_wildcard(host: str, port: int, inodes: list[int]) -> None:
    found = [*listeners.parse(TCP), *listeners.parse(TCP6)]
    assert [one.inode for one in listeners.answering(found, host, port)] == inodes


def test_a_real_socket_is_ours_or_somebody_elses() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        mine = listeners.occupant("127.0.0.1", port, [os.getpid()])
        foreign = listeners.occupant("127.0.0.1", port, [os.getppid()])
    assert mine is not None
    assert mine["ours"] is True
    assert mine["pid"] == os.getpid()
    assert mine["since"] is not None
    assert "pytest" in mine["command"] or "python" in mine["command"]
    assert foreign == {**mine, "ours": False}
    assert listeners.occupant("127.0.0.1", port, [os.getpid()]) is None


def test_a_foreign_socket_beside_ours_on_a_shared_port_is_named(bystander_port: int) -> None:
    with socket.socket() as ours:
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        ours.bind(("127.0.0.1", bystander_port))
        ours.listen()
        found = listeners.occupant("127.0.0.1", bystander_port, [os.getpid()])
    assert found is not None
    assert found["ours"] is False
    assert found["pid"] != os.getpid()


SHARING = """
import signal, socket
one = socket.socket()
one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
one.bind(("127.0.0.1", 0))
one.listen()
print(one.getsockname()[1], flush=True)
signal.pause()
"""


@pytest.fixture
def bystander_port() -> Iterator[int]:
    """A port that another process shares (SO_REUSEPORT), as an older vLLM would."""
    with subprocess.Popen([sys.executable, "-I", "-S", "-c", SHARING], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        yield int(child.stdout.readline())
        child.kill()


def test_the_next_free_port(monkeypatch: pytest.MonkeyPatch) -> None:
    def held(*ports: int) -> None:
        found = [listeners.Listener("0.0.0.0", port, 0, 1) for port in ports]
        monkeypatch.setattr(listeners, "everywhere", lambda: found)

    held(8000)
    assert listeners.free_port(8000) == 8001
    held(8000, 8001, 8003)
    assert listeners.free_port(8000) == 8002
    held(65535, 1024)
    assert listeners.free_port(65535) == 1025
    held(80)
    assert listeners.free_port(80) == 1024
    held(*range(1, 65536))
    assert listeners.free_port(8000) is None
