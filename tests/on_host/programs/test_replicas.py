"""Which replicas of a fleet are on a host. There is no engine: records alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from orchestrator.on_host.programs import addresses, replicas
from orchestrator.on_host.state.state import append, state_folder
from tests.on_host.programs.engine_rooms import launch
from tests.programs.requests import read_too

ECHO = {"commands": {"word": {"argv": ["echo", "hello"], "timeout": 5}}}


def look(**asked: Any) -> dict[str, Any]:
    answer: dict[str, Any] = read_too("replicas", replicas.main)({"fleet": "kimi", "facts": ECHO, **asked})
    return answer


def test_each_is_told_with_what_was_started(home: Path) -> None:
    python = home / "python3"
    for name in ("kimi-1", "kimi-12", "kimi-router", "kimi", "kimi-0", "kimi-fp8-1", "other-1"):
        launch(home, name, 1, python)
    launch(home, "kimi-1", 2, python)
    launch(home, "kimi-2", 1, python, machine="another")
    append(state_folder("kimi-12"), {"action": "stop", "launch": 1, "by_person": True})
    there = {each["instance"]: each for each in look()["deployments"]}
    assert sorted(there) == ["kimi-1", "kimi-12", "kimi-router"]
    assert (there["kimi-1"]["launch"], there["kimi-1"]["alive"]) == (2, False)
    assert (there["kimi-1"]["stopped"], there["kimi-12"]["stopped"]) == (False, True)
    assert there["kimi-1"]["command"]["argv"] == [str(python), "-m", "server"]


def test_a_command_that_cannot_be_read_is_none(home: Path) -> None:
    launch(home, "kimi-1", 1, home / "python3")
    (home / ".local/state/deploy/kimi-1/launches/1/command.json").write_text(json.dumps({"argv": 1}))
    (deployed,) = look()["deployments"]
    assert deployed["command"] is None


def test_one_answer_has_what_the_host_has_for_more_of_them(home: Path) -> None:
    answer = look()
    assert answer["deployments"] == []
    assert answer["addresses"] == addresses.main({"instance": "kimi"})
    assert answer["facts"]["word"]["rc"] == 0
