"""A patch that somebody wrote edits a key of config.json that no code here names, from the log to the file and back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cli.main import run

PATCH = """\
id: mine
title: The rope scaling is of an older form
category: other
explanation: The key was renamed.
match:
  - {exception: MyError, text: rope type}
remedy:
  - do:
      - {kind: config, file: config.json, path: /rope_scaling/kind_of_old, op: remove}
      - kind: config
        file: config.json
        path: /rope_scaling/kind_of_new
        op: set
        value: {name: yarn, factors: [1, 2.5]}
        when: {config: {./rope_scaling/kind_of_old: "*"}}
        unless: {config: {/model_type: qwen*}}
"""
CONFIG = """{
    "model_type": "llama",  "rope_scaling": {
        "kind_of_old": "yarn",
        "factor": 1e308
    }
}"""
AFTER = """{
    "model_type": "llama",  "rope_scaling": {
        "kind_of_new": {"name": "yarn", "factors": [1, 2.5]},
        "factor": 1e308
    }
}"""
LOG = (
    'Traceback (most recent call last):\n  File "/x/vllm/a.py", line 1, in f\n    raise\nMyError: rope type\n'
)


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "patches").mkdir()
    (tmp_path / "patches" / "mine.yaml").write_text(PATCH)
    (tmp_path / "vllm.log").write_text(LOG)
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text(CONFIG)
    return tmp_path / "model"


def deploy(model: Path, *words: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    capsys.readouterr()
    try:
        code: Any = run([*words, "--patches", str(model.parent / "patches")])
    except SystemExit as left:
        code = left.code
    return code, capsys.readouterr().out


def test_a_key_that_no_code_names(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = model / "config.json"
    code, out = deploy(model, "diagnose", str(model.parent / "vllm.log"), "--json", capsys=capsys)
    told: dict[str, Any] = json.loads(out)
    assert (code, told["finding"]["patch"], told["remedy"]["automatic"]) == (6, "mine", True)
    assert told["remedy"]["actions"] == [
        {"kind": "config", "file": "config.json", "path": "/rope_scaling/kind_of_old", "op": "remove"}
    ]
    here = ("kimi-k2.5", "--host", "local", "--model-dir", str(model))
    forced = (*here, "--patch", "mine")
    code, out = deploy(model, "diff", *forced, capsys=capsys)
    assert '+        "kind_of_new": {"name": "yarn", "factors": [1, 2.5]},\n' in out
    for more in ((), ("--no-launch",)):
        code, out = deploy(model, "remediate", *forced, *more, "--dry-run", capsys=capsys)
        assert out.count('+        "kind_of_new"') == 1
    assert config.read_text() == CONFIG
    for _ in ("edits", "finds nothing left to edit"):
        code, out = deploy(model, "remediate", *forced, "--no-launch", capsys=capsys)
        assert (code, config.read_text()) == (0, AFTER)
    code, out = deploy(model, "revert", *here, capsys=capsys)
    assert (code, config.read_text()) == (0, CONFIG)
