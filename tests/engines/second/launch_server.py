"""Stands in for `python -m sglang.launch_server` 0.5.23: the lines, endpoints and order of a start, nothing computed.

`SECOND_FAULT=memory` dies as its schedulers do when the memory fraction leaves no room for a KV cache.
"""

from __future__ import annotations

import json
import mmap
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

NO_ROOM = "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static."
TRACEBACK = """Scheduler hit an exception: Traceback (most recent call last):
  File "/x/sglang/srt/managers/scheduler.py", line 3312, in run_scheduler_process
    scheduler = Scheduler(
  File "/x/sglang/srt/model_executor/model_runner.py", line 1740, in init_memory_pool
    raise RuntimeError(
"""


def options() -> dict[str, str]:
    words = sys.argv[1:]
    assert all(word.startswith("--") for word in words[::2]), words
    return {word[2:]: value for word, value in zip(words[::2], words[1::2], strict=True)}


def shared_memory() -> mmap.mmap:
    """As multiprocessing makes it, with the home folder in it: whoever is killed leaves it behind."""
    path = f"/dev/shm/psm_{os.urandom(4).hex()}"
    with open(path, "xb+") as file:
        file.write(os.environ["HOME"].encode().ljust(4096, b"\0"))
        file.flush()
        return mmap.mmap(file.fileno(), 4096)


def say(text: str, rank: str = "") -> None:
    print(f"[{time.strftime('%Y-%m-%d %H:%M:%S')}{rank}] {text}", flush=True)


class Handler(BaseHTTPRequestHandler):
    served: str

    def log_message(self, *arguments: object) -> None:
        """Nothing is said of a request."""

    def do_GET(self) -> None:
        listed = {"object": "list", "data": [{"id": self.served, "object": "model"}]}
        known = {"/ready": {}, "/v1/models": listed}
        self.reply(200 if self.path in known else 404, known.get(self.path, {"detail": "Not Found"}))

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        choice = {"text": " 4", "finish_reason": "length"}
        self.reply(200, {"choices": [choice], "usage": {"completion_tokens": 8}})

    def reply(self, status: int, value: object) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main() -> None:
    given = options()
    tensor = int(given["tp-size"])
    told = {
        "model_path": given["model-path"],
        "tp_size": tensor,
        "context_length": int(given["context-length"]),
    }
    say(f"server_args={told}")
    for rank in range(tensor):
        say("Init torch distributed begin.", f" TP{rank}")
        say("Load weight begin. avail mem=94.10 GB", f" TP{rank}")
    if os.environ.get("SECOND_FAULT") == "memory":
        say(f"{TRACEBACK}{NO_ROOM}\n", " TP0")
        say("Received sigquit from a child process. It usually means the child failed.")
        sys.exit(1)
    keep = shared_memory()
    say("KV Cache is allocated. #tokens: 1048576, K size: 9.0 GB, V size: 9.0 GB", " TP0")
    Handler.served = given["served-model-name"]
    server = ThreadingHTTPServer((given["host"], int(given["port"])), Handler)
    say("The server is fired up and ready to roll!")
    server.serve_forever()
    keep.close()


if __name__ == "__main__":
    main()
