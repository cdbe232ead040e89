"""The stand-in router does what vllm-router was seen to do with replicas that come, go and die."""

from __future__ import annotations

import http.client
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from orchestrator.engines.vllm.router import ROUTER
from orchestrator.on_host.ports.endpoint import Response, ask
from orchestrator.rehearsal import ports, stand_in_router
from tests.waiting import eventually, running


class Replica(BaseHTTPRequestHandler):
    """Answers with its port; to a POST with half of what it announces, after which it is gone."""

    def log_message(self, *arguments: object) -> None: ...

    def do_GET(self) -> None:
        text = str(self.server.server_address[1]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_POST(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b"half")
        self.close_connection = True


@pytest.fixture
def replicas() -> Iterator[list[ThreadingHTTPServer]]:
    servers = [ThreadingHTTPServer(("127.0.0.1", 0), Replica) for _ in range(2)]
    for server in servers:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield servers
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture
def port() -> Iterator[int]:
    with ports.row(1) as port:
        argv = [sys.executable, stand_in_router.__file__, *ROUTER.arguments("127.0.0.1", port)[2:]]
        with running(argv, stdout=subprocess.DEVNULL):
            eventually(lambda: get(port, ROUTER.alive_path).status == 200)
            yield port


def get(port: int, path: str) -> Response:
    return ask("127.0.0.1", port, path)


def url_of(server: ThreadingHTTPServer) -> str:
    return f"http://127.0.0.1:{server.server_address[1]}"


def test_replicas_come_die_and_go(port: int, replicas: list[ThreadingHTTPServer]) -> None:
    def listed() -> object:
        return ROUTER.workers(get(port, ROUTER.workers_path).text)

    first, second = map(url_of, replicas)
    assert (listed(), get(port, "/v1/models").status) == ({}, 503)
    assert ask("127.0.0.1", port, ROUTER.admit("http://127.0.0.1:9"), body={}).status == 503
    for url in (first, second):
        assert ask("127.0.0.1", port, ROUTER.admit(url), body={}).status == 200
    assert listed() == {first: True, second: True}
    assert {get(port, "/v1/models").text for _ in range(4)} == {
        url.rpartition(":")[2] for url in (first, second)
    }

    replicas[0].shutdown()
    replicas[0].server_close()
    assert [get(port, "/v1/models").text for _ in range(4)] == [second.rpartition(":")[2]] * 4
    eventually(lambda: listed() == {first: False, second: True})
    assert (get(port, "/health").status, get(port, ROUTER.alive_path).status) == (503, 200)
    ask("127.0.0.1", port, ROUTER.withdraw(first), body={})
    assert listed() == {second: True}

    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with (
        direct.open(f"http://127.0.0.1:{port}/v1/completions", b"{}") as answer,
        pytest.raises(http.client.IncompleteRead) as cut,
    ):
        answer.read()  # what breaks off behind it breaks off before it
    assert cut.value.partial == b"half"


def test_one_that_was_removed_while_it_was_asked_stays_so() -> None:
    """A request that did not reach it brought it back as unhealthy, and the next look as healthy, before it was proven."""
    known = stand_in_router.KnownReplicas()
    known.healthy["http://127.0.0.1:1"] = True
    known.note("http://127.0.0.1:1", well=False)
    assert known.healthy == {"http://127.0.0.1:1": False}
    known.remove("http://127.0.0.1:1")
    known.note("http://127.0.0.1:1", well=True)
    assert known.healthy == {}
