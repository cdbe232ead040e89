"""What does Ray do of which this host is to be a node, as far as whoever starts it can tell?"""

from __future__ import annotations

import os
import socket
import sys
import threading

VERSION = "2.48.0"
_ENDED = "Some Ray subprocesses exited unexpectedly"
_address = ""


def start() -> None:
    """`ray start --block`: the head keeps who has joined for as long as they are connected, the others stay connected."""
    given = dict(zip(sys.argv[1:], sys.argv[2:], strict=False))
    own = given["--node-ip-address"]
    print(
        f"INFO usage_lib.py:447 -- Usage stats collection is disabled.\nINFO scripts.py:863 -- Local node IP: {own}"
    )
    print("SUCC scripts.py:902 -- Ray runtime started.", flush=True)
    if "--head" in sys.argv:
        _lead(own, int(given["--port"]))
    else:
        with _ask(given["--address"], f"join {own}") as line:
            while line.recv(1):
                pass
    sys.exit(_ENDED)


def _lead(own: str, port: int) -> None:
    joined = {0: own}
    with socket.create_server(("0.0.0.0", port)) as server:
        while True:
            line, _ = server.accept()
            threading.Thread(target=_serve, args=(line, joined), daemon=True).start()


def _serve(line: socket.socket, joined: dict[int, str]) -> None:
    with line:
        word, _, address = line.recv(100).decode().partition(" ")
        if word == "join":
            joined[line.fileno()] = address
            line.recv(1)
            del joined[line.fileno()]
        else:
            line.sendall(" ".join(joined.values()).encode())


def _ask(address: str, words: str) -> socket.socket:
    host, _, port = address.rpartition(":")
    line = socket.create_connection((host, int(port)))
    line.sendall(words.encode())
    return line


def init(address: str = "", **_: object) -> None:
    """`ray.init`."""
    global _address  # as Ray itself keeps the cluster that a process is connected to
    _address = address or os.environ["RAY_ADDRESS"]


def nodes() -> list[dict[str, object]]:
    """`ray.nodes`."""
    with _ask(_address, "nodes") as line:
        return [
            {"NodeManagerAddress": address, "Alive": True} for address in line.recv(1000).decode().split()
        ]
