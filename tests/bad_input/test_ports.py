"""A server that answers as ours would, and is not."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.bad_input.refused import ONE_CARD, engine_that_first, refused, the_error
from tests.deployments import Case
from tests.ports import free_port


def test_a_foreign_server_that_is_there_before_the_launch(whole: Case) -> None:
    with foreign_server(whole.content["port"], "tiny") as asked:
        error = refused(whole, exit_code=4, code="port_taken")
        assert f"pid {os.getpid()}" in error["message"]
        assert "--set port=" in error["next"]
        assert "POST /v1/completions" not in asked  # nothing of ours was sent to it


def test_the_port_that_is_advised_is_the_next_one_on_which_nobody_listens(whole: Case) -> None:
    with three_ports() as (taken, second, third):
        whole.content["port"] = taken
        whole.write()
        second.listen()
        with foreign_server(taken, "tiny"):
            error = refused(whole, exit_code=4, code="port_taken")
        assert error["next"].endswith(f"--set port={third.getsockname()[1]}")


@contextmanager
def three_ports() -> Iterator[tuple[int, socket.socket, socket.socket]]:
    """A port for a server, and the two after it, which nobody else can take while this is open."""
    while True:
        first = free_port()
        with contextlib.ExitStack() as kept:
            second, third = (kept.enter_context(socket.socket()) for _ in range(2))
            try:
                second.bind(
                    ("127.0.0.1", first + 1)
                )  # without SO_REUSEADDR: not beside a port that another test keeps
                third.bind(("127.0.0.1", first + 2))
            except (OSError, OverflowError):
                continue
            yield first, second, third
            return


def test_a_foreign_server_that_comes_while_the_launch_is_under_way(whole: Case, tmp_path: Path) -> None:
    whole.content["engine"] = {"python": engine_that_first(tmp_path, "import time; time.sleep(60)")}
    whole.write()
    started = whole.state / "launches" / "1" / "process.json"
    with appearing(whole, started.exists) as asked:
        error = refused_for_the_other(whole)
        assert error["next"].startswith(f"deploy stop {whole.path}")
    assert "POST /v1/completions" not in asked


HELD = """
import os, time
from vllm.stand_in import api_server
answer = api_server.Handler.do_GET
def held(self):
    while not os.path.exists({0!r}):
        time.sleep(0.02)
    answer(self)
api_server.Handler.do_GET = held
"""


def test_a_foreign_server_that_shares_the_port_of_a_launch_under_way(whole: Case, tmp_path: Path) -> None:
    """Ours listens already, and has not answered yet: the kernel gives each connection to one of the two."""
    both = tmp_path / "both"
    whole.content |= {"engine": {"python": engine_that_first(tmp_path, HELD.format(str(both)))}, **ONE_CARD}
    whole.write()
    log = whole.state / "launches" / "1" / "vllm.log"

    def listens() -> bool:
        return log.exists() and b"startup complete" in log.read_bytes()

    with appearing(whole, listens, model="another-model", shares=True, then=both.touch) as asked:
        refused_for_the_other(whole)
        status = json.loads(whole.deploy("status", "PLAYBOOK", "--json").out)
        assert status["members"]
        assert status["state"] == "running, not healthy"
        assert (status["listener"]["ours"], status["listener"]["pid"]) == (False, os.getpid())
    assert not [one for one in asked if one.startswith("POST")]


def test_a_foreign_server_that_joins_a_healthy_launch(whole: Case) -> None:
    whole.content |= ONE_CARD
    whole.write()
    assert whole.deploy("PLAYBOOK").code == 0
    members = json.loads(whole.deploy("status", "PLAYBOOK", "--json").out)["members"]
    with foreign_server(whole.content["port"], "another-model", shares=True) as asked:
        left = whole.deploy("PLAYBOOK", "--set", "port=1234", "--json")
        assert left.code == 4, left.out + left.err
        error = the_error(left)
        assert error["code"] == "port_shared"
        assert f"pid {os.getpid()}" in error["message"]
        assert f"port {whole.content['port']} of launch 1" in error["message"]
        assert error["next"].startswith(f"deploy stop {whole.path}")
        assert not [one for one in asked if one.startswith("POST")]
    again = whole.deploy("PLAYBOOK", "--json")
    assert again.code == 0, again.out + again.err
    assert [one["changed"] for one in again.of("result")] == [False]
    now = json.loads(whole.deploy("status", "PLAYBOOK", "--json").out)["members"]
    assert [one["pid"] for one in now] == [one["pid"] for one in members]


def refused_for_the_other(whole: Case) -> dict[str, Any]:
    """A launch that ends because another server, this process's, answers on its port."""
    left = whole.deploy("PLAYBOOK", "--json")
    assert left.code == 6, left.out[-2000:] + left.err
    error = the_error(left)
    assert error["code"] == "foreign_server"
    assert f"pid {os.getpid()}" in error["message"]
    return error


@contextmanager
def appearing(
    whole: Case,
    when: Callable[[], bool],
    *,
    model: str = "tiny",
    shares: bool = False,
    then: Callable[[], None] = lambda: None,
) -> Iterator[list[str]]:
    """A foreign server comes on the playbook's port `when` it is time; gives what it was asked. Ends with `deploy stop`."""
    over = threading.Event()
    asked: list[str] = []

    def appear() -> None:
        while not (when() or over.is_set()):
            time.sleep(0.02)
        with foreign_server(whole.content["port"], model, shares=shares) as seen:
            then()
            over.wait(30)
            asked.extend(seen)

    other = threading.Thread(target=appear)
    other.start()
    try:
        yield asked
    finally:
        over.set()
        other.join()
        assert whole.deploy("stop", "PLAYBOOK").code == 0


@contextmanager
def foreign_server(port: object, model: str, *, shares: bool = False) -> Iterator[list[str]]:
    """Somebody else's server of that model id; gives what it was asked. It may share its port (SO_REUSEPORT)."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(f"{self.command} {self.path}")
            body = json.dumps({"object": "list", "data": [{"id": model}]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET

        def log_message(self, format: str, *arguments: Any) -> None:
            """Nothing."""

    class Server(ThreadingHTTPServer):
        def server_bind(self) -> None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, int(shares))
            super().server_bind()

    with Server(("127.0.0.1", int(str(port))), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield asked
        finally:
            server.shutdown()
            thread.join()
