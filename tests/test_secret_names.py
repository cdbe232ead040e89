"""Which variables are secrets."""

from __future__ import annotations

import pytest

from orchestrator.secret_names import is_secret


@pytest.mark.parametrize(
    "name",
    [
        "VLLM_API_KEY",
        "HF_TOKEN",
        "HUGGING_FACE_HUB_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "db_password",
        "APIKEY",
        "api-key",
    ],
)
def test_secrets(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize(
    "name", ["TOKENIZERS_PARALLELISM", "HF_TOKEN_PATH", "NCCL_PROTO", "KEYBOARD", "HF_HOME"]
)
def test_others(name: str) -> None:
    assert not is_secret(name)
