"""A server that answers /health and never a request: a hang, with its bound told while it is waited for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from orchestrator.launch import attempt, server
from tests.bad_input.refused import ONE_CARD, engine_that_first
from tests.deployments import Case

NEVER = """
import time
from vllm.stand_in import api_server
api_server.Api.complete = lambda self: time.sleep(3600)
"""


def test_a_first_completion_that_never_comes(
    whole: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (server, attempt):
        monkeypatch.setattr(module, "SMOKE_SECONDS", 3.0)
    whole.content |= {"engine": {"python": engine_that_first(tmp_path, NEVER)}, **ONE_CARD}
    whole.write()
    left = whole.deploy("PLAYBOOK")
    assert left.code == 8, left.out + left.err
    (waiting, *_) = [line for line in left.out.splitlines() if "one real completion" in line]
    assert "at most 3s" in waiting
    said = " ".join(left.err.split())
    assert "no completion came within 3 s" in said
    assert "[no_completion, exit 8]" in said
    assert f"next: deploy logs {whole.path}" in said
    assert [one["result"] for one in whole.journal() if one["action"] == "outcome"] == ["hang"]
    assert json.loads(whole.deploy("status", "PLAYBOOK", "--json").out)[
        "members"
    ]  # it is left to be looked at
