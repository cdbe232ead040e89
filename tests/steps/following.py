"""A launch that goes as a test wants it to, in place of one that is followed."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.diagnosis.verdict import Diagnosis
from orchestrator.launch import attempt
from orchestrator.launch.failure import Failure
from orchestrator.launch.server import UnderWay
from orchestrator.launch.watch import Seen
from orchestrator.programs.place import Endpoint

UNDER_WAY = UnderWay(3, "/log", Endpoint(host="127.0.0.1", port=8000, model="kimi-k2.5"))
FAILED = Failure(3, Seen("exited", 1), Diagnosis(verdict="unknown_fault"))
GONE = Failure(3, Seen("exited", None), Diagnosis(verdict="healthy"))
"""Ended from outside: its log names no fault."""


class Followed:
    """Keeps what was asked of it; each question comes to what `comes` says, None where it went well."""

    def __init__(self, **comes: Failure | None) -> None:
        self._comes = comes
        self.context = None
        self.asked: list[Any] = []

    def __call__(self, job: Any, plan: Any, launch: UnderWay, *, past: str, peers: Any) -> Followed:
        self.asked.append((launch.launch, past))
        return self

    def __enter__(self) -> Followed:
        return self

    def __exit__(self, *_: Any) -> None:
        self.asked.append("let go")

    def __getattr__(self, name: str) -> Any:
        return lambda: self.asked.append(name) or self._comes.get(name)


def followed(monkeypatch: pytest.MonkeyPatch, **comes: Failure | None) -> Followed:
    """What follows launches from now on."""
    made = Followed(**comes)
    monkeypatch.setattr(attempt, "Attempt", made)
    return made
