"""What is an HAProxy asked at its admin socket, and what does it answer?"""

from __future__ import annotations

from orchestrator.programs.request import Request, Value


class HaproxyAnswer(Value):
    text: str


class AskHaproxy(Request[HaproxyAnswer]):
    """One command; `timeout` in seconds."""

    program = "haproxy"

    socket: str
    command: str
    timeout: float
