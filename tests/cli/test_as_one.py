"""Which hosts cannot serve one model together, before anything is done on any of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from orchestrator.cli.main import run


@pytest.mark.parametrize(
    ("words", "code", "error", "message"),
    [
        (["stop", "--host", "local"], 2, "nodes_missing", "--as-one needs several hosts"),
        (["up", "--host", "local", "--host", "local"], 2, "nodes_missing", "only local is named"),
        (["plan", "--gpu", "8xH100"], 2, "as_one_offline", "say how many, --nodes N"),
        (
            ["up", "--host", "local", "--host", "gpu8.invalid"],
            3,
            "host_unreachable",
            "nothing was done on the other hosts",
        ),
        (
            ["stop", "--host", "local", "--host", "gpu8.invalid"],
            3,
            "host_unreachable",
            "--part with the others",
        ),
        (["logs", "--host", "local", "--host", "gpu8.invalid"], 2, "no_launch", "has no launch yet"),
    ],
    ids=["one alone", "one twice", "none", "one that is not there", "one that cannot be ended", "no log"],
)
def test_they_are_refused(
    words: list[str],
    code: int,
    error: str,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    playbook = tmp_path / "tiny.yaml"
    content = {"model": {"repository": "deploy-tests/nothing"}, "context": 256, "needs": {"gpus": 0}}
    playbook.write_text(json.dumps(content))
    assert run([words[0], str(playbook), *words[1:], "--as-one", "--json"]) == code
    last = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert last["error"]["code"] == error
    assert message in last["error"]["message"]
    assert last["error"]["next"]
    assert not (tmp_path / "state").exists()
