"""A stand-in for vllm-router: a program that runs by itself and shares requests out among replicas, one after the other.

It has the paths by which vllm-router is told of replicas, and does what that was seen to do: a request of which nobody has been told
anything yet goes to the next replica where one fails, a stream is cut off with it.
"""

from __future__ import annotations

import argparse
import http.client
import json
import threading
import time
import urllib.parse
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

LOOK_SECONDS = 0.5
ASK_SECONDS = 5.0
CHUNK = 16 << 10


class KnownReplicas:
    """The replicas by URL, and whether each answered when it was last asked."""

    def __init__(self) -> None:
        self.healthy: dict[str, bool] = {}
        self._turn = 0
        self._changing = threading.Lock()

    def add(self, url: str) -> bool:
        if not answers(url):
            return False
        with self._changing:
            self.healthy[url] = True
        return True

    def remove(self, url: str) -> None:
        with self._changing:
            self.healthy.pop(url, None)

    def note(self, url: str, *, well: bool) -> None:
        """What came of asking it; one that was removed meanwhile stays so."""
        with self._changing:
            if url in self.healthy:
                self.healthy[url] = well

    def look(self) -> None:
        while True:
            for url in list(self.healthy):
                self.note(url, well=answers(url))
            time.sleep(LOOK_SECONDS)

    def in_turn(self) -> Iterator[str]:
        """Those that are healthy, each once, beginning with whose turn it is."""
        urls = [url for url, well in list(self.healthy.items()) if well]
        self._turn += 1
        for number in range(len(urls)):
            yield urls[(self._turn + number) % len(urls)]


def answers(url: str) -> bool:
    try:
        connection = connected(url, ASK_SECONDS)
        connection.request("GET", "/health")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False


def connected(url: str, seconds: float | None) -> http.client.HTTPConnection:
    return http.client.HTTPConnection(urllib.parse.urlsplit(url).netloc, timeout=seconds)


class RouterServer(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, place: tuple[str, int]) -> None:
        self.workers = KnownReplicas()
        super().__init__(place, RouterHandler)


class RouterHandler(BaseHTTPRequestHandler):
    """One connection of a client."""

    server: RouterServer

    def log_message(self, *arguments: object) -> None:
        """The replicas tell of requests."""

    def do_GET(self) -> None:
        if self.path == "/liveness":
            self._answer(200, {"status": "ok"})
        elif self.path == "/health":
            self._answer(200 if all(self.server.workers.healthy.values()) else 503, {})
        elif self.path == "/workers":
            listed = self.server.workers.healthy.items()
            self._answer(200, {"workers": [{"url": url, "is_healthy": well} for url, well in listed]})
        else:
            self._pass_on(b"")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path, _, query = self.path.partition("?")
        (url,) = urllib.parse.parse_qs(query).get("url", [""])
        if path == "/add_worker":
            added = self.server.workers.add(url)
            print(f"{'added' if added else 'no answer from'} {url}", flush=True)
            self._answer(
                200 if added else 503, {"status": f"{url} {'added' if added else 'does not answer'}"}
            )
        elif path == "/remove_worker":
            self.server.workers.remove(url)
            print(f"removed {url}", flush=True)
            self._answer(200, {"status": f"{url} removed"})
        else:
            self._pass_on(body)

    def _pass_on(self, body: bytes) -> None:
        for url in self.server.workers.in_turn():
            connection = connected(url, None)
            try:
                connection.request(self.command, self.path, body, self._headers())
                answer = connection.getresponse()
            except (OSError, http.client.HTTPException):
                self.server.workers.note(url, well=False)
                continue
            self._copy(answer)
            return
        self._answer(503, {"error": {"message": "no replica answers", "type": "service_unavailable"}})

    def _headers(self) -> dict[str, str]:
        return {name: self.headers[name] for name in ("Content-Type", "Authorization") if self.headers[name]}

    def _copy(self, answer: http.client.HTTPResponse) -> None:
        """As it comes; where it breaks off, so does what the client gets."""
        self.close_connection = True
        self.send_response(answer.status)
        for name in ("Content-Type", "Content-Length"):
            if value := answer.headers.get(name):
                self.send_header(name, value)
        self.send_header("Connection", "close")
        self.end_headers()
        try:
            while chunk := answer.read1(CHUNK):
                self.wfile.write(chunk)
        except (OSError, http.client.HTTPException) as error:
            print(f"an answer broke off: {error}", flush=True)

    def _answer(self, status: int, value: object) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=30000)
    options, _ = parser.parse_known_args()
    router = RouterServer((options.host, options.port))
    threading.Thread(target=router.workers.look, daemon=True).start()
    print(f"listening on {options.host}:{options.port}", flush=True)
    router.serve_forever()


if __name__ == "__main__":
    main()
