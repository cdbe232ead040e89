"""What is a server asked by a program on a host, and what does it answer?"""

from __future__ import annotations

from orchestrator.programs.request import Request, Value, secret


class ServerAnswer(Value):
    """`status` is None where nobody answered, and the text says why."""

    status: int | None
    text: str


class AskServer(Request[ServerAnswer]):
    """GET, or POST of an empty object; `timeout` in seconds."""

    program = "ask_server"

    host: str
    port: int
    path: str
    post: bool = False
    api_key: str | None = secret(None)
    timeout: float
