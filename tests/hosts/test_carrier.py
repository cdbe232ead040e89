"""What carries a connection: TCP, or a program, whose last words are kept."""

from __future__ import annotations

import socket

import pytest

from orchestrator.hosts.carrier import ProxyProgram, carry
from orchestrator.hosts.config import Resolved
from tests.waiting import eventually


def test_a_connection_to_where_it_leads() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        carrier = carry(Resolved("127.0.0.1", server.getsockname()[1], "ada"), 5.0)
        there, _ = server.accept()
        with there:
            carrier.socket.sendall(b"hello")
            assert there.recv(5) == b"hello"
            assert carrier.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
            assert carrier.last_words() == ""
            carrier.close()
            assert there.recv(1) == b""


def test_where_nobody_listens_it_is_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(ConnectionRefusedError):
        carry(Resolved("127.0.0.1", port, "ada"), 5.0)


def test_a_program_is_spoken_with_through_its_pipes_and_ended() -> None:
    carrier = carry(Resolved("gpu", 22, "ada", proxy_command="cat"), 5.0)
    assert isinstance(carrier, ProxyProgram)
    carrier.socket.sendall(b"hello")
    assert carrier.socket.recv(5) == b"hello"
    carrier.close()
    assert carrier._process.returncode is not None


def test_a_program_that_ends_is_seen_at_once_and_what_it_said_is_kept() -> None:
    carrier = ProxyProgram("sh -c 'echo no route >&2; exit 1'")
    assert carrier.socket.recv(1) == b""
    eventually(lambda: carrier.last_words() == "no route")
    carrier.close()
