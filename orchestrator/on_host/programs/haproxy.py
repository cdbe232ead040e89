"""What does an HAProxy of this machine answer at its admin socket?"""

from __future__ import annotations

import os
import socket
from typing import Any

from orchestrator.on_host.refusal import Refusal

LARGEST = 4 << 20
"""Bytes of an answer that are read: a row of its statistics takes some hundred."""


def main(request: dict[str, Any]) -> dict[str, Any]:
    """One command, and all that it answers.

    request: socket (a path; ~ is the home folder), command (one line), timeout (seconds for each wait). Answers {text}. Raises
    Refusal("haproxy_socket") where nobody answers there, or this user may not ask.
    """
    path = os.path.expanduser(request["socket"])
    if "\n" in request["command"]:
        raise Refusal("bad_request", "a command is one line")
    answer = b""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asked:
            asked.settimeout(request["timeout"])
            asked.connect(path)
            asked.sendall(request["command"].encode() + b"\n")
            while len(answer) < LARGEST and (part := asked.recv(65536)):
                answer += part
    except OSError as error:
        raise Refusal("haproxy_socket", f"{path}: {error.strerror or error}") from error
    return {"text": answer.decode("utf-8", "replace")}
