"""How an installation stands, as values: each line of its progress is one of three."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from orchestrator.programs.errand import FailedErrand
from orchestrator.programs.install_engine import (
    InstalledNow,
    InstallProgress,
    InstallStanding,
    InstallStatus,
)

HALF = {"phase": "uv", "line": "looking for uv"}
DONE = {"done": True, "made": False, "version": "0.16.0", "python": "3.12.3"}
FAILED = {"error": {"code": "uv_missing", "message": "none"}}


def standing(last: Any) -> InstallStanding:
    answer = {"state": "running", "holder": {"pid": 7, "since": "s"}, "last": last, "room": "/e"}
    return InstallStatus(engine="vllm", version="0.16.0").read(answer)


@pytest.mark.parametrize(
    ("line", "kind"), [(HALF, InstallProgress), (DONE, InstalledNow), (FAILED, FailedErrand)]
)
def test_a_line_is_one_of_three(line: dict[str, Any], kind: type) -> None:
    last = standing({**line, "of_the_future": [1]}).last
    assert type(last) is kind
    assert last.as_json() == line


@pytest.mark.parametrize("line", [None, {}])
def test_there_may_be_no_line_yet(line: Any) -> None:
    assert standing(line).last is None


def test_what_is_none_of_them_is_no_answer() -> None:
    with pytest.raises(ValidationError):
        standing({"phase": "uv"})
