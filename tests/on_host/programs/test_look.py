"""One answer for checkpoint, launch and facts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchestrator.on_host.programs import look


@pytest.fixture
def request_(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    launch = {
        "instance": "one",
        "launch": None,
        "host": "127.0.0.1",
        "port": 1,
        "health_path": "/health",
        "model": "m",
        "api_key": None,
    }
    return {"checkpoint": {"folder": str(tmp_path / "none"), "instance": "one"}, "launch": launch}


def test_facts_are_told_where_they_are_asked_for(request_: dict[str, Any]) -> None:
    asked = {"commands": {"word": {"argv": ["echo", "hello"], "timeout": 5}}}
    answer = look.main({**request_, "facts": asked})
    assert answer["facts"] == {"word": {"rc": 0, "stdout": "aGVsbG8K", "stderr": ""}}
    assert answer["checkpoint"]["exists"] is False
    assert answer["launch"]["launch"] is None


def test_and_no_command_is_run_where_they_are_not(request_: dict[str, Any]) -> None:
    assert set(look.main(request_)) == {"checkpoint", "launch"}
