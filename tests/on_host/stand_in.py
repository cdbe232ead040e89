"""A stand-in for the engine's processes: an API server with workers, told by a JSON argument what to be.

It imitates what was seen of vLLM: workers are forked, take a title of their own (which wipes their
environment, as setproctitle does), keep files in /dev/shm mapped, and outlive a killed API server.
Options: workers (how many), shm (folder for one mapped `psm_*` file a worker), apart (workers lead
sessions of their own), deaf (TERM is ignored), port (serve /health, /v1/models, completions), model,
exit (leave with this code at once), signal (die by this signal at once), out (text to print first),
env (print this variable).
"""

import ctypes
import http.server
import json
import mmap
import os
import signal
import sys
import time

PR_SET_NAME = 15


def say(text):
    os.write(1, (text + "\n").encode())


def wipe_environment():
    with open("/proc/self/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()
    start, end = int(fields[47]), int(fields[48])  # env_start, env_end: fields 50 and 51 of proc(5)
    ctypes.memset(start, 0, end - start)


def worker(options, number):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if options.get("apart"):
        os.setsid()
    keep = None
    if options.get("shm"):
        path = os.path.join(options["shm"], f"psm_{os.getpid():08x}")
        with open(path, "w+b") as file:
            file.truncate(4096)
            keep = mmap.mmap(file.fileno(), 4096)
    ctypes.CDLL(None).prctl(PR_SET_NAME, f"VLLM::Worker_TP{number}".encode(), 0, 0, 0)
    wipe_environment()
    say(f"worker {number} {os.getpid()}")
    while True:
        signal.pause()
    return keep


class Server(http.server.BaseHTTPRequestHandler):
    options = None

    def do_GET(self):
        if self.path == "/health":
            self.answer(200, None)
        elif self.path == "/v1/models" and self.headers.get("Authorization") == self.options.get(
            "authorization"
        ):
            self.answer(200, {"data": [{"id": self.options.get("model", "tiny"), "max_model_len": 4096}]})
        else:
            self.answer(401, {"error": "Unauthorized"})

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        status, value = self.options["posts"].get(self.path, [404, {"detail": "Not Found"}])
        self.answer(status, value)

    def answer(self, status, value):
        body = b"" if value is None else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def main():
    options = json.loads(sys.argv[1])
    if "out" in options:
        say(options["out"])
    if "env" in options:
        say(f"env {os.environ.get(options['env'])}")
    if "exit" in options:
        sys.exit(options["exit"])
    if "signal" in options:
        os.kill(os.getpid(), options["signal"])
    children = []
    for number in range(options.get("workers", 0)):
        pid = os.fork()
        if pid == 0:
            worker(options, number)
        children.append(pid)

    def end(*_):
        for pid in children:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        os._exit(0)

    signal.signal(signal.SIGTERM, signal.SIG_IGN if options.get("deaf") else end)
    if "port" in options:
        Server.options = options
        server = http.server.ThreadingHTTPServer(("127.0.0.1", options["port"]), Server)
        say(f"server {os.getpid()}")
        server.serve_forever()
    say(f"server {os.getpid()}")
    while True:
        time.sleep(3600)


main()
