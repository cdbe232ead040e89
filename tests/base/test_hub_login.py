"""The token that a person has is that of the environment, or the one that a login left."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.base.hub_login import token
from orchestrator.on_host.secrets.secrets import STARS, redact


@pytest.mark.parametrize(
    ("place", "environment"),
    [
        (".cache/huggingface/token", {}),
        ("elsewhere/huggingface/token", {"XDG_CACHE_HOME": "~/elsewhere"}),
        ("hf/token", {"HF_HOME": "~/hf", "XDG_CACHE_HOME": "~/elsewhere"}),
        ("mine", {"HF_TOKEN_PATH": "~/mine", "HF_HOME": "~/hf"}),
    ],
)
def test_a_login_leaves_it_in_a_file(tmp_path: Path, place: str, environment: dict[str, str]) -> None:
    here = {"HOME": str(tmp_path), **environment}
    assert token(here) is None
    file = tmp_path / place
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("hushhush\n")
    assert token(here) == "hushhush"
    assert redact("say hushhush") == f"say {STARS}"
    assert token({**here, "HF_TOKEN": "another"}) == "another"
    assert token({**here, "HF_HUB_DISABLE_IMPLICIT_TOKEN": "1"}) is None


@pytest.mark.parametrize("content", [b"", b" \n", "gehe\u00efm".encode()])
def test_what_is_no_token_is_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "token").write_bytes(content)
    assert token({"HF_HOME": str(tmp_path)}) is None
    assert token({"HF_TOKEN_PATH": str(tmp_path)}) is None
    assert token({}) is None
