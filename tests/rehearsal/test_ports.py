"""A reserved port is nobody else's until its own server takes it."""

from __future__ import annotations

import errno
import http.server
import socket
import struct

import pytest

from orchestrator.rehearsal.ports import reserve, row

IP_LOCAL_PORT_RANGE = 51
"""Narrows for one socket what the kernel may choose; from Linux 6.3 on."""


def choosing_among(port: int, *, reuse: bool = False) -> socket.socket:
    """A socket for which the kernel has this one port to choose."""
    one = socket.socket()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, int(reuse))
    try:
        one.setsockopt(socket.IPPROTO_IP, IP_LOCAL_PORT_RANGE, struct.pack("I", port | port << 16))
    except OSError:
        one.close()
        pytest.skip("this kernel cannot be told which port to choose")
    return one


@pytest.mark.parametrize("reuse", [False, True])
def test_the_kernel_gives_it_to_nobody_who_asks_for_any_port(reuse: bool) -> None:
    with reserve() as kept, choosing_among(kept.getsockname()[1], reuse=reuse) as other:
        with pytest.raises(OSError) as no:
            other.bind(("127.0.0.1", 0))
        assert no.value.errno == errno.EADDRINUSE


def test_the_kernel_gives_it_to_no_connection() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        reserve() as kept,
        choosing_among(kept.getsockname()[1]) as client,
    ):
        with pytest.raises(OSError) as no:
            client.connect(server.getsockname())
        assert no.value.errno == errno.EADDRNOTAVAIL


def test_nobody_answers_before_its_server_takes_it() -> None:
    with reserve() as kept:
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(kept.getsockname()).close()
        with http.server.HTTPServer(kept.getsockname(), http.server.BaseHTTPRequestHandler):
            socket.create_connection(kept.getsockname()).close()


def test_those_of_a_row_follow_each_other_and_all_of_them_are_kept() -> None:
    with row(3) as first:
        for port in range(first, first + 3):
            with pytest.raises(OSError), socket.socket() as other:
                other.bind(("127.0.0.1", port))
