"""Which TCP sockets listen here, as the kernel itself answers over netlink?

/proc/net/tcp holds every connection too, and the kernel looks for these through a table of some hundred thousand places: 4 to
9 ms a reading, of two files. The question for those that listen takes 0.2 ms.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator

_NETLINK_SOCK_DIAG = 4  # include/uapi/linux/netlink.h
_SOCK_DIAG_BY_FAMILY = 20  # include/uapi/linux/sock_diag.h
_DONE, _DUMP, _REQUEST, _INTERRUPTED = 3, 0x300, 0x1, 0x10  # include/uapi/linux/netlink.h
_TCP_LISTEN = 10  # include/net/tcp_states.h
_HEADER = struct.Struct("=IHHII")  # length, type, flags, sequence, port
_QUESTION = struct.Struct(
    "=BBBBI48x"
)  # struct inet_diag_req_v2: family, protocol, extensions, pad, states, any socket
_PORT = struct.Struct(">H")  # of struct inet_diag_msg, as the rest below
_OWNER = struct.Struct("=II")  # uid, inode
_PORT_AT, _ADDRESS_AT, _OWNER_AT, _LEAST = 4, 8, 64, 72
_SECONDS = 2.0
_BYTES = 1 << 16
"""The kernel sends at most half of it at once."""


def listening() -> list[tuple[str, int, int, int]]:
    """Address, port, owner's uid and inode of each socket.

    Raises OSError where the kernel or a sandbox does not answer this.
    """
    return [each for family in (socket.AF_INET, socket.AF_INET6) for each in _of_family(family)]


def _of_family(family: socket.AddressFamily) -> Iterator[tuple[str, int, int, int]]:
    question = _QUESTION.pack(family, socket.IPPROTO_TCP, 0, 0, 1 << _TCP_LISTEN)
    head = _HEADER.pack(_HEADER.size + len(question), _SOCK_DIAG_BY_FAMILY, _REQUEST | _DUMP, 1, 0)
    with socket.socket(
        socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _NETLINK_SOCK_DIAG
    ) as kernel:
        kernel.settimeout(_SECONDS)
        kernel.send(head + question)
        while True:
            for kind, body in _messages(kernel.recv(_BYTES)):
                if kind == _DONE:
                    return
                yield _socket(body)


def _messages(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Type and content of each message; raises OSError for what is no whole answer."""
    while data:
        if len(data) < _HEADER.size:
            raise OSError("half an answer of netlink")
        length, kind, flags, _, _ = _HEADER.unpack_from(data)
        whole = _HEADER.size <= length <= len(data)
        if not whole or flags & _INTERRUPTED or kind not in (_DONE, _SOCK_DIAG_BY_FAMILY):
            raise OSError(f"netlink answers with a message of type {kind}")
        yield kind, data[_HEADER.size : length]
        data = data[(length + 3) & ~3 :]


def _socket(body: bytes) -> tuple[str, int, int, int]:
    if len(body) < _LEAST:
        raise OSError("half a socket of netlink")
    size = 4 if body[0] == socket.AF_INET else 16
    (port,) = _PORT.unpack_from(body, _PORT_AT)
    uid, inode = _OWNER.unpack_from(body, _OWNER_AT)
    return address(body[_ADDRESS_AT : _ADDRESS_AT + size]), port, uid, inode


def address(raw: bytes) -> str:
    """An address of 4 or 16 bytes, in the order of the network; of an IPv4 address within IPv6 that one."""
    if len(raw) == 16 and raw.startswith(bytes(10) + b"\xff\xff"):
        raw = raw[12:]
    return socket.inet_ntop(socket.AF_INET if len(raw) == 4 else socket.AF_INET6, raw)
