"""Which replicas of a fleet are on a host. There is no engine: records alone."""

from __future__ import annotations

import json
from pathlib import Path

from orchestrator.on_host.programs import replicas
from tests.on_host.programs.engine_rooms import launch


def test_each_is_told_with_what_was_started(home: Path) -> None:
    python = home / "python3"
    for name in ("kimi-1", "kimi-12", "kimi-router", "kimi", "kimi-0", "kimi-fp8-1", "other-1"):
        launch(home, name, 1, python)
    launch(home, "kimi-1", 2, python)
    launch(home, "kimi-2", 1, python, machine="another")
    there = {each["instance"]: each for each in replicas.main({"fleet": "kimi"})["deployments"]}
    assert sorted(there) == ["kimi-1", "kimi-12", "kimi-router"]
    assert (there["kimi-1"]["launch"], there["kimi-1"]["alive"]) == (2, False)
    assert there["kimi-1"]["command"]["argv"] == [str(python), "-m", "server"]


def test_a_command_that_cannot_be_read_is_none(home: Path) -> None:
    launch(home, "kimi-1", 1, home / "python3")
    (home / ".local/state/deploy/kimi-1/launches/1/command.json").write_text(json.dumps({"argv": 1}))
    (deployed,) = replicas.main({"fleet": "kimi"})["deployments"]
    assert deployed["command"] is None


def test_there_may_be_none(home: Path) -> None:
    assert replicas.main({"fleet": "kimi"}) == {"deployments": []}
