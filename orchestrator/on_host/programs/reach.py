"""Which of the other hosts of its group does this one reach, port by port, and do full packets come through?

Ranks listen on ports that nobody knows beforehand, on every host, and dial each other from both sides; the head's are met on
one that is known. So this listens as they do, and dials the others. It lives by its input: once the controller is gone, so
are its sockets.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import socket
import struct
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from orchestrator.on_host.files import input_line
from orchestrator.on_host.ports import listeners
from orchestrator.on_host.processes import procs

PAYLOAD_BYTES = 128 << 10
"""What whoever dials is sent: what a path lets through in small packets alone gets stuck in it."""
_MTU = 0x8921  # SIOCGIFMTU
_SYN_RECV = "03"  # TCP_SYN_RECV, include/net/tcp_states.h
_AT_ONCE_SECONDS = 0.9
"""Sooner than a machine that is not there is given up: its address is asked for three times, a second each."""
_MOST_AT_ONCE = 64
_BACKLOG = 128


def main(request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yields {"ports": [...], "taken": {...} or null, "mtu", "clock"}, and once a line of standard input names the others
    {"reached": [...], "half": [...]}; then it lives until its input ends.

    request: address (this host's own, on which it listens) and its interface, count (of ports that the kernel chooses), meeting (one more port, on
    any address; null for none), members (pids of our own launch), word (what it tells who dials it), dial_seconds (for each
    port), seconds (after which it ends in any case). `taken` is who has the meeting port (`listeners.occupant`), `mtu` the interface's (null where it tells none), `clock` the
    host's, in seconds since 1970. The line:
    {"others": [{"name", "address", "ports", "word"}]}. Of each port of each of them: name, port, outcome ("open", "refused",
    "dropped": nothing came back, "no_way", "another": who answers is not the host that is meant, "stuck": it answers, and full
    packets do not come through), reason (the kernel's words) and seconds (until it was open), null where there are none.
    """
    give_up = time.monotonic() + request["seconds"]
    with contextlib.ExitStack() as until_end:
        open_ = [_listening(request["address"], 0, until_end) for _ in range(request["count"])]
        taken = None
        if request["meeting"] is not None:
            try:
                open_.append(_listening("", request["meeting"], until_end))
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
                taken = listeners.occupant(request["address"], request["meeting"], request["members"])
                taken = taken or _SOMEBODY
        for each in open_:
            threading.Thread(target=_answer, args=(each, request["word"].encode()), daemon=True).start()
        ports = [each.getsockname()[1] for each in open_]
        yield {"ports": ports, "taken": taken, "mtu": _mtu(request["interface"]), "clock": time.time()}
        if line := input_line.line(sys.stdin.fileno(), give_up):
            reached = _dialled(json.loads(line)["others"], request["dial_seconds"])
            yield {"reached": reached, "half": _half_open(ports)}
            input_line.line(sys.stdin.fileno(), give_up)


_SOMEBODY = {"ours": False, "pid": None, "command": None, "user": None, "since": None}


def _listening(address: str, port: int, until_end: contextlib.ExitStack) -> socket.socket:
    """As torch does it: a connection that has just ended keeps nobody from the port."""
    listening = until_end.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind((address, port))
    listening.listen(_BACKLOG)
    until_end.callback(_shut, listening)
    return listening


def _shut(listening: socket.socket) -> None:
    """Closing alone wakes nobody who waits in `accept`."""
    with contextlib.suppress(OSError):
        listening.shutdown(socket.SHUT_RDWR)


def _mtu(interface: str) -> int | None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        try:
            answer = fcntl.ioctl(asked.fileno(), _MTU, struct.pack("256s", interface.encode()[:15]))
        except OSError:
            return None
    size: int = struct.unpack_from("16xi", answer)[0]
    return size


def _answer(listening: socket.socket, word: bytes) -> None:
    """Tell whoever dials who this is, then what fills packets."""
    while True:
        try:
            dialled, _ = listening.accept()
        except OSError:
            return
        threading.Thread(target=_tell, args=(dialled, word), daemon=True).start()


def _tell(dialled: socket.socket, word: bytes) -> None:
    with dialled, contextlib.suppress(OSError):
        dialled.settimeout(30)
        dialled.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # the word in a small packet of its own
        dialled.sendall(word + b"\n")
        dialled.sendall(bytes(PAYLOAD_BYTES))


def _dialled(others: list[dict[str, Any]], seconds: float) -> list[dict[str, Any]]:
    calls = [(other, port) for other in others for port in other["ports"]]
    if not calls:
        return []
    with ThreadPoolExecutor(min(len(calls), _MOST_AT_ONCE)) as pool:
        return list(pool.map(lambda call: _dial(call[0], call[1], seconds), calls))


def _dial(other: dict[str, Any], port: int, seconds: float) -> dict[str, Any]:
    began = time.monotonic()
    reason = None
    try:
        with socket.create_connection((other["address"], port), timeout=seconds) as dialled:
            took = time.monotonic() - began
            outcome = _heard(dialled, other["word"].encode() + b"\n", seconds)
    except socket.timeout:
        took, outcome = time.monotonic() - began, "dropped"
    except OSError as error:
        took, reason = time.monotonic() - began, error.strerror or str(error)
        rejects = error.errno == errno.EHOSTUNREACH and took < _AT_ONCE_SECONDS  # as firewalld does
        refused = rejects or isinstance(error, ConnectionError)
        outcome = "refused" if refused else "no_way"
    return {"name": other["name"], "port": port, "outcome": outcome, "reason": reason, "seconds": took}


def _half_open(ports: list[int]) -> list[str]:
    """Who has knocked on one of these ports, was answered, and has not said a word since."""
    rows = (line.split() for line in procs.read_bytes("/proc/net/tcp").decode().splitlines()[1:])
    half = (row for row in rows if len(row) > 3 and row[3] == _SYN_RECV)
    ends = ((row[1].rpartition(":")[2], row[2].rpartition(":")[0]) for row in half)
    return sorted({listeners.parse_address(far) for port, far in ends if int(port, 16) in ports})


def _heard(dialled: socket.socket, word: bytes, seconds: float) -> str:
    """What comes of a connection that was taken."""
    give_up, heard = time.monotonic() + seconds, bytearray()
    whole, ended = len(word) + PAYLOAD_BYTES, False
    try:
        while len(heard) < whole and not ended:
            dialled.settimeout(max(0.01, give_up - time.monotonic()))
            data = dialled.recv(1 << 16)
            heard += data
            ended = not data
    except OSError:  # its time is over, or it was cut off
        pass
    if not heard.startswith(word[: len(heard)]) or (ended and len(heard) < len(word)):
        return "another"
    return "open" if len(heard) == whole else "stuck"
