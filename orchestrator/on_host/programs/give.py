"""How are the files of a checkpoint given to the other hosts that want them, for as long as they do?

It speaks plain HTTP on the hosts' own network, to whoever knows a word that is made for this one time: who asks judges each
file by its hash, which came another way. It lives by its input, so that nothing listens once the controller is done or gone.
"""

from __future__ import annotations

import contextlib
import hmac
import os
import re
import select
import socketserver
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any, BinaryIO
from urllib.parse import unquote

from orchestrator.on_host.checkpoint.offer import NotYet, Offer
from orchestrator.on_host.secrets import secrets
from orchestrator.on_host.state import state

IDLE_SECONDS = 600.0
"""Of a controller whose connection is lost without a word, nothing ends the input for hours. Whoever waits for a file asks again
several times a second."""
_MOST_AT_ONCE = 256
_SILENT_SECONDS = 30.0
_LOOK_SECONDS = 1.0
_FROM = re.compile(r"bytes=(\d{1,18})-")


def main(request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yields {"port": N}, then lives until its input ends, or nobody has asked for anything for a while.

    request: instance (whose download's manifest counts), folder, address (this host's own, on which it listens), word (that
    who asks must know, as a bearer's token). Answers GET /NAME with the bytes from where a Range begins; 403 for another word,
    404 for what is not given here, 503 for what may still come.
    """
    secrets.remember(request["word"])
    offer = Offer(state.known_folder(request["instance"]), request["folder"])
    with _FileServer(request["address"], offer, request["word"]) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield {"port": server.server_address[1]}
        _until_nobody_wants_it(server)
        server.shutdown()


def _until_nobody_wants_it(server: _FileServer) -> None:
    poll = select.poll()
    poll.register(sys.stdin.fileno(), select.POLLIN)
    while server.at_work or time.monotonic() - server.asked < IDLE_SECONDS:
        if poll.poll(_LOOK_SECONDS * 1000) and not os.read(sys.stdin.fileno(), 1 << 16):
            return


class _FileServer(
    socketserver.ThreadingTCPServer
):  # that of http.server looks its own name up, which may take half a minute
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, address: str, offer: Offer, word: str) -> None:
        self.offer, self.word = offer, f"Bearer {word}".encode()
        self.asked = time.monotonic()
        """When somebody who knows the word last had an answer."""
        self.at_work = 0
        """How many files are being given: a large one over a slow link takes longer than anybody may be silent."""
        self._turn = threading.Lock()
        self._free = threading.BoundedSemaphore(_MOST_AT_ONCE)
        super().__init__((address, 0), _FileRequest)

    @contextlib.contextmanager
    def counted(self) -> Iterator[None]:
        """A file that is being given."""
        with self._turn:
            self.at_work += 1
        try:
            yield
        finally:
            with self._turn:
                self.at_work -= 1
                self.asked = time.monotonic()

    def verify_request(self, request: Any, client_address: Any) -> bool:
        return self._free.acquire(blocking=False)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Who asks may leave in the middle: that is told where it is missed."""


class _FileRequest(BaseHTTPRequestHandler):
    server: _FileServer
    timeout = _SILENT_SECONDS

    def log_message(self, format: str, *arguments: Any) -> None:
        """Nothing: the standard error is the controller's."""

    def do_GET(self) -> None:
        known = self.headers.get("Authorization", "").encode("utf-8", "replace")
        if not hmac.compare_digest(known, self.server.word):
            self._say(403)
            return
        self.server.asked = time.monotonic()
        try:
            file = self.server.offer.opened(unquote(self.path[1:]))
        except NotYet:
            self._say(503)
            return
        if file is None:
            self._say(404)
            return
        with file, self.server.counted(), contextlib.suppress(OSError):  # who asked is gone
            self._give(file)

    def _give(self, file: BinaryIO) -> None:
        size = os.fstat(file.fileno()).st_size
        span = _FROM.fullmatch(self.headers.get("Range", ""))
        first = min(int(span[1]), size) if span else 0
        self._say(206 if first else 200, size - first)
        self.connection.sendfile(file, first)

    def _say(self, status: int, length: int = 0) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(length))
        self.end_headers()
