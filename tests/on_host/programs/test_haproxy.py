"""An admin socket is asked. There is no HAProxy: a socket that answers as one."""

from __future__ import annotations

import socket
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.on_host.programs import haproxy
from orchestrator.on_host.refusal import Refusal


@pytest.fixture
def answering() -> Iterator[tuple[str, list[bytes]]]:
    """The path of a socket that answers once, in two parts, and what it was asked."""
    asked: list[bytes] = []
    with tempfile.TemporaryDirectory(dir="/tmp") as folder, socket.socket(socket.AF_UNIX) as listening:
        path = str(Path(folder) / "h.sock")
        listening.bind(path)
        listening.listen()

        def answer() -> None:
            connection, _ = listening.accept()
            with connection:
                asked.append(connection.recv(1000))
                connection.sendall(b"# pxname,")
                connection.sendall(b"svname\n\n")

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        yield path, asked
        thread.join(5)


def test_a_command_is_a_line_and_its_answer_is_read_to_the_end(answering: tuple[str, list[bytes]]) -> None:
    path, asked = answering
    answer = haproxy.main({"socket": path, "command": "show stat", "timeout": 5})
    assert (answer, asked) == ({"text": "# pxname,svname\n\n"}, [b"show stat\n"])


def test_a_socket_that_nobody_listens_at_is_named(tmp_path: Path) -> None:
    with pytest.raises(Refusal, match=r"h\.sock: No such file"):
        haproxy.main({"socket": str(tmp_path / "h.sock"), "command": "show stat", "timeout": 5})


def test_two_commands_in_one_are_refused() -> None:
    with pytest.raises(Refusal, match="one line"):
        haproxy.main({"socket": "/nowhere", "command": "show stat\nshutdown", "timeout": 5})
