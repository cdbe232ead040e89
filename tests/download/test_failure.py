"""Which error a failed download is, and what is typed then."""

from __future__ import annotations

import pytest

from orchestrator.base.errors import DeployError
from orchestrator.cli.hints import after
from orchestrator.download.failure import Source, failure

SOURCE = Source(
    "kimi",
    "gpu1",
    "org/model",
    "/models/kimi",
    "https://huggingface.co",
    "/venv/bin/python",
)


def next_after(error: DeployError) -> str | None:
    """What is typed next after the main job for kimi on gpu1."""
    error.asked = "kimi --host gpu1"
    error.known.setdefault("playbook", "kimi")
    return after(error, "deploy kimi --host gpu1")


@pytest.mark.parametrize(
    ("code", "command"),
    [
        ("hub_gated", "https://huggingface.co/org/model"),
        ("hub_auth", "hf auth login"),
        ("hub_not_found", "deploy show kimi"),
        ("hub_token_withheld", "--consent token-to-endpoint"),
        ("hub_unreachable", "curl -sSI https://huggingface.co"),
        ("disk_full", "df -h /models/kimi"),
        ("permission", "--model-dir"),
        ("checkpoint_folder", "--model-dir"),
        ("foreign_folder", "--consent foreign-folder"),
        ("foreign_files", "--model-dir"),
        ("hub_missing", "/venv/bin/python -m pip install huggingface_hub"),
        ("checkpoint_busy", "deploy status kimi --host gpu1"),
        ("download_failed", "deploy kimi --host gpu1"),
    ],
)
def test_a_failure_says_what_to_type(code: str, command: str) -> None:
    error = failure(code, "it went wrong", SOURCE)
    assert (error.code, error.message) == (code, "it went wrong")
    assert command in (next_after(error) or "")


def test_an_unknown_code_offers_the_same_command_again() -> None:
    assert next_after(failure("new", "m", SOURCE)) == "deploy kimi --host gpu1"
