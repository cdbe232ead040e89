"""Listening for other hosts and dialling them, on this machine alone: what comes of each kind of port."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from typing import IO, Any

import pytest

from orchestrator.on_host.programs import reach
from tests.ports import free_port
from tests.programs.requests import read_too


def asked(**more: Any) -> dict[str, Any]:
    return {
        "address": "127.0.0.1",
        "interface": "lo",
        "count": 2,
        "meeting": None,
        "members": [],
        "word": "abcd",
        "dial_seconds": 1.0,
        "seconds": 30,
        **more,
    }


def dialling(
    controller: IO[bytes], *others: dict[str, Any], **more: Any
) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the program says first, and of dialling its own ports with these `others`; then its sockets are closed."""
    answers = read_too("reach", reach.main)(asked(**more))
    listens = next(answers)
    itself = {"name": "itself", "address": "127.0.0.1", "ports": listens["ports"], "word": "abcd"}
    controller.write(json.dumps({"others": [itself, *others]}).encode() + b"\n")
    reached = next(answers)
    controller.close()
    assert list(answers) == []
    return listens, reached


@contextlib.contextmanager
def answering(*words: bytes) -> Iterator[int]:
    """A port on which whoever dials is told these words, and nothing else."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        kept = []

        def answer() -> None:
            dialled, _ = server.accept()
            kept.append(dialled)
            for word in words:
                dialled.sendall(word)

        threading.Thread(target=answer, daemon=True).start()
        yield server.getsockname()[1]
        for dialled in kept:
            dialled.close()


def test_what_is_listened_on_is_reached_and_closed_in_the_end(controller: IO[bytes]) -> None:
    meeting = free_port()
    listens, reached = dialling(controller, meeting=meeting)
    assert (len(listens["ports"]), listens["ports"][-1], listens["taken"]) == (3, meeting, None)
    assert listens["mtu"] == 65536
    assert abs(listens["clock"] - time.time()) < 60
    assert [(each["port"], each["outcome"]) for each in reached["reached"]] == [
        (port, "open") for port in listens["ports"]
    ]
    for port in listens["ports"]:
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), timeout=5)


def test_what_comes_of_other_ports(controller: IO[bytes]) -> None:
    closed = free_port()
    with (
        answering(b"SSH-2.0-OpenSSH\r\n") as foreign,
        answering(b"abcd\n", b"\0" * 99) as stuck,
        answering() as mute,
    ):
        ports = {closed: "refused", foreign: "another", stuck: "stuck", mute: "stuck"}
        other = {"name": "b", "address": "127.0.0.1", "ports": list(ports), "word": "abcd"}
        _, reached = dialling(controller, other)
    tried = {each["port"]: each["outcome"] for each in reached["reached"] if each["name"] == "b"}
    assert tried == ports
    (refused,) = [each for each in reached["reached"] if each["port"] == closed]
    assert refused["reason"] == "Connection refused"


def test_who_has_the_meeting_port_is_told(controller: IO[bytes]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        listens, reached = dialling(controller, meeting=other.getsockname()[1])
    assert len(listens["ports"]) == len(reached["reached"]) == 2
    assert listens["taken"]["ours"] is False and listens["taken"]["pid"]


def test_it_ends_with_its_input_before_anything_is_dialled(controller: IO[bytes]) -> None:
    answers = read_too("reach", reach.main)(asked())
    next(answers)
    controller.close()
    assert list(answers) == []
