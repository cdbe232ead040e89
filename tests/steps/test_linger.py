"""Lingering is asked of logind, which may refuse."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.base.errors import PreflightRefused
from orchestrator.hosts.host import Completed
from orchestrator.steps.linger import Linger
from tests.jobs import Answering, job
from tests.steps.doing import do


class Logind(Answering):
    def __init__(self, rc: int) -> None:
        super().__init__()
        self._rc = rc

    def run(self, command: str, **_: Any) -> Completed:
        assert command == "loginctl enable-linger"
        return Completed(self._rc, b"", b"Access denied\n")


def test_logind_lets_it() -> None:
    assert do(Linger(), job(Logind(0)))[0] is None


def test_what_logind_says_is_told_with_what_root_may_type() -> None:
    with pytest.raises(PreflightRefused) as raised:
        do(Linger(), job(Logind(1)))
    assert raised.value.message == "gpu7: loginctl enable-linger: Access denied"
    assert raised.value.next_command == 'sudo loginctl enable-linger "$USER"  # on gpu7'
