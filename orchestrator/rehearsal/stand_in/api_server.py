"""What does the API server do: tell its arguments, wait for the engine, answer requests?"""

from __future__ import annotations

import contextlib
import hmac
import json
import os
import signal
import socket
import socketserver
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from . import VERSION, frames
from .core import Core
from .printing import pause, raw, say, traceback
from .settings import StandInSettings, read

NAME = "APIServer"
ROUTES = {
    "GET": ("/openapi.json", "/docs", "/health", "/load", "/version", "/v1/models", "/metrics", "/ping"),
    "POST": ("/tokenize", "/detokenize", "/v1/chat/completions", "/v1/completions", "/ping", "/invocations"),
}
LOGO = (
    "",
    "       █     █     █▄   ▄█",
    " ▄▄ ▄█ █     █     █ ▀▄▀ █  version {version}",
    "  █▄█▀ █     █     █     █  model   {model}",
    "   ▀▀  ▀▀▀▀▀ ▀▀▀▀▀ ▀     ▀",
    "",
)
TOKEN_SECONDS = 0.02
DEAD = "EngineCore encountered an issue. See stack trace (above) for the root cause."
FAILED = "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}"
FP8 = (
    "Using fp8_e4m3 data type to store kv cache. It reduces the GPU memory footprint and boosts the performance. "
    "Meanwhile, it may cause accuracy drop without a proper scaling factor"
)
NVFP4 = (
    "Detected ModelOpt NVFP4 checkpoint (quant_algo=NVFP4). Please note that the format is experimental and could change "
    "in future."
)


def main() -> None:
    """Carry one launch out; the exit status is vLLM's."""
    settings = read(sys.argv[1:])
    say(NAME, "INFO", "utils.py:355", "\n".join(LOGO).format(version=VERSION, model=settings.model))
    say(NAME, "INFO", "utils.py:294", f"non-default args: {shown(settings)}")
    server = Api(settings)
    pause(0.6)
    resolve(NAME, settings)
    pause(0.5)
    server.start_engine()
    server.serve()


def resolve(process: str, settings: StandInSettings) -> None:
    """Tell what the config comes to."""
    architecture = settings.config.get("architectures", ["?"])[0]
    say(process, "INFO", "model.py:529", f"Resolved architecture: {architecture}")
    say(process, "INFO", "model.py:1549", f"Using max model len {settings.context}")
    say(process, "WARNING", "modelopt.py:346", NVFP4)
    if settings.kv_dtype.startswith("fp8"):
        say(process, "INFO", "cache.py:214", FP8)
    say(process, "INFO", "scheduler.py:224", "Chunked prefill is enabled with max_num_batched_tokens=8192.")
    say(process, "INFO", "vllm.py:712", "Asynchronous scheduling is enabled.")
    if settings.nodes > 1:
        inferred = f"Inferred data_parallel_rank 0 from node_rank {settings.node}"
        say(process, "INFO", "arg_utils.py:1590", inferred)


def shown(settings: StandInSettings) -> dict[str, Any]:
    """The arguments as the release prints them: numbers as numbers."""
    return {
        name: int(value) if isinstance(value, str) and value.isdecimal() else value
        for name, value in settings.given.items()
    }


class Api(ThreadingHTTPServer):
    """The server; its port is bound at once, and answered only when the engine is up."""

    daemon_threads = True

    def __init__(self, settings: StandInSettings) -> None:
        self.settings = settings
        self._core = 0
        self._line, self._engines_end = socket.socketpair()
        self._turn = threading.Lock()
        self._counting = threading.Lock()
        self.running = 0
        """Requests that have no whole answer yet."""
        super().__init__((settings.host, settings.port), Handler, bind_and_activate=False)
        self.server_bind()

    def server_bind(self) -> None:
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)  # as vLLM did always up to 0.24.0
        socketserver.TCPServer.server_bind(self)  # http.server's own asks DNS for this machine's name
        self.server_name, self.server_port = self.settings.host, self.settings.port

    def start_engine(self) -> None:
        """Start EngineCore and wait until it is up; a failure ends this process."""
        self._core = os.fork()
        if self._core == 0:
            self.socket.close()
            self._line.close()
            Core(self.settings, self._engines_end).run()
        self._engines_end.close()
        signal.signal(signal.SIGTERM, self._leave)
        if self._line.recv(1):
            return
        raw(NAME, traceback(frames.API, FAILED))
        tracker = "There appear to be 2 leaked shared_memory objects to clean up at shutdown"
        print(
            f"multiprocessing/resource_tracker.py:279: UserWarning: resource_tracker: {tracker}", flush=True
        )
        sys.exit(1)

    def serve(self) -> None:
        settings = self.settings
        say(NAME, "INFO", "api_server.py:481", "Supported tasks: ['generate']")
        at = f"http://{settings.host}:{settings.port}"
        say(NAME, "INFO", "api_server.py:486", f"Starting vLLM API server 0 on {at}")
        routes = [f"Route: {path}, Methods: {method}" for method, paths in ROUTES.items() for path in paths]
        say(NAME, "INFO", "launcher.py:38", "Available routes are:")
        for route in routes:
            say(NAME, "INFO", "launcher.py:46", route)
        raw(
            NAME,
            f"INFO:     Started server process [{os.getpid()}]\nINFO:     Waiting for application startup.",
        )
        self.server_activate()
        raw(NAME, "INFO:     Application startup complete.")
        threading.Thread(target=self._mourn, daemon=True).start()
        self.serve_forever()

    @contextlib.contextmanager
    def at_work(self) -> Iterator[None]:
        with self._counting:
            self.running += 1
        try:
            yield
        finally:
            with self._counting:
                self.running -= 1

    def complete(self) -> bool:
        """Whether the engine answered a request."""
        with self._turn:
            try:
                self._line.sendall(b"r")
                return bool(self._line.recv(1))
            except OSError:
                return False

    def _mourn(self) -> None:
        """End when the engine has ended."""
        os.waitpid(self._core, 0)
        gone = f"vllm.v1.engine.exceptions.EngineDeadError: {DEAD}"
        say(
            NAME,
            "ERROR",
            "async_llm.py:664",
            f"AsyncLLM output_handler failed.\n{traceback(frames.OUTPUT, gone)}",
        )
        pause(0.3)
        raw(NAME, "INFO:     Shutting down\nINFO:     Waiting for application shutdown.")
        os._exit(0 if self.settings.nodes > 1 else 1)  # seen of several hosts: a server that ended cleanly

    def _leave(self, *_: object) -> None:
        raw(NAME, "INFO:     Shutting down")
        os.kill(self._core, signal.SIGTERM)
        os._exit(0)


class Handler(BaseHTTPRequestHandler):
    """One connection of a client."""

    server: Api

    def log_message(self, *arguments: object) -> None:
        """uvicorn's line is printed instead."""

    def do_GET(self) -> None:
        model = {
            "id": self.server.settings.served,
            "object": "model",
            "max_model_len": self.server.settings.context,
        }
        answers: dict[str, Any] = {
            "/health": {},
            "/ping": {},
            "/version": {"version": VERSION},
            "/v1/models": {"object": "list", "data": [model]},
        }
        if self.path == "/metrics":
            self._metrics()
        elif self._allowed():
            self._answer(200, answers[self.path]) if self.path in answers else self._answer(
                404, {"detail": "Not Found"}
            )

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self._allowed():
            return
        if request.get("model") != self.server.settings.served:
            message = f"The model `{request.get('model')}` does not exist."
            self._answer(404, {"error": {"message": message, "type": "NotFoundError"}})
            return
        with self.server.at_work():
            self._complete(request)

    def _complete(self, request: dict[str, Any]) -> None:
        if not self.server.complete():
            self._answer(500, {"error": {"message": DEAD, "type": "InternalServerError"}})
        elif request.get("stream") and self.path == "/v1/completions":
            self._stream(request)
        elif self.path == "/v1/completions":
            self._answer(200, completion(request, {"text": " 4"}))
        elif self.path == "/v1/chat/completions":
            self._answer(200, completion(request, {"message": {"role": "assistant", "content": "4"}}))
        else:
            self._answer(404, {"detail": "Not Found"})

    def _stream(self, request: dict[str, Any]) -> None:
        """As many events as it may have tokens, and the end as vLLM tells it."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        count = int(request.get("max_tokens") or 16)
        for number in range(1, count + 1):
            time.sleep(TOKEN_SECONDS)  # whoever streams wants to see it go on, at any pace
            end = "length" if number == count else None
            choice = {"index": 0, "text": " 4", "finish_reason": end}
            event = {"object": "text_completion", "model": request["model"], "choices": [choice]}
            self.wfile.write(f"data: {json.dumps(event)}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True

    def _metrics(self) -> None:
        labels = f'{{engine="0",model_name="{self.server.settings.served}"}}'
        lines = [
            f"vllm:num_requests_running{labels} {float(self.server.running)}",
            f"vllm:num_requests_waiting{labels} 0.0",
        ]
        self._send("text/plain", "\n".join([*lines, ""]).encode())

    def _allowed(self) -> bool:
        key = os.environ.get("VLLM_API_KEY")
        given = self.headers.get("Authorization", "")
        if key and self.path.startswith("/v1") and not hmac.compare_digest(given, f"Bearer {key}"):
            self._answer(401, {"error": "Unauthorized"})
            return False
        return True

    def _answer(self, status: int, value: object) -> None:
        self._send("application/json", json.dumps(value).encode(), status)

    def _send(self, kind: str, body: bytes, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        peer = f"{self.client_address[0]}:{self.client_address[1]}"
        raw(NAME, f'INFO:     {peer} - "{self.command} {self.path} HTTP/1.1" {status}')


def completion(request: dict[str, Any], choice: dict[str, Any]) -> dict[str, Any]:
    """The one answer that this stand-in knows, in as many tokens as it may have."""
    tokens = min(int(request.get("max_tokens") or 16), 16)
    return {
        "id": f"cmpl-{os.urandom(8).hex()}",
        "object": "text_completion",
        "model": request["model"],
        "choices": [{"index": 0, **choice, "finish_reason": "length"}],
        "usage": {"prompt_tokens": 4, "completion_tokens": tokens, "total_tokens": 4 + tokens},
    }
