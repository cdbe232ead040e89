"""Which names of variables, keys and options are those of secrets."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from orchestrator.on_host.secrets.names import is_secret

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    "name",
    [
        "VLLM_API_KEY",
        "HF_TOKEN",
        "HF_TOKEN_2",
        "HUGGING_FACE_HUB_TOKEN",
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "OPENAI_API_KEY_FALLBACK",
        "WANDB_API_KEY",
        "db_password",
        "db.password",
        "DB_PASS",
        "smtp_pass",
        "PASS",
        "PGPASSWORD",
        "MYSQL_PWD",
        "SSH_PASSPHRASE",
        "SSH_PRIVATE_KEY",
        "private_key",
        "accountKey",
        "clientSecret",
        "client_secret",
        "AUTH",
        "REDIS_AUTH",
        "AUTHORIZATION",
        "COOKIE",
        "SESSION_COOKIE",
        "X-Api-Key",
        "X-Auth-Token",
        "APIKEY",
        "api-key",
        "use_auth_token",
        "DATABASE_URL",
        "SENTRY_DSN",
        "SLACK_WEBHOOK_URL",
        "AZURE_STORAGE_CONNECTION_STRING",
        "STORAGE_SAS",
        "GITHUB_PAT",
        "JWT",
    ],
)
def test_secrets(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize(
    "name",
    [
        "TOKENIZERS_PARALLELISM",
        "HF_TOKEN_PATH",
        "SSL_KEY_FILE",
        "ssl_keyfile",
        "SSH_AUTH_SOCK",
        "TOKEN_URL",
        "AUTH_TYPE",
        "AUTHOR",
        "KEYBOARD",
        "monkey",
        "compass",
        "bypass",
        "passthrough",
        "post_grad_custom_pass",
        "PATH",
        "PWD",
        "OLDPWD",
        "patch",
        "key",
        "cache_key",
        "num_key_value_heads",
        "PUBLIC_KEY",
        "max_tokens",
        "MAX_NUM_BATCHED_TOKENS",
        "bos_token",
        "eos_token_id",
        "kv_bytes_per_token",
        "all_token_ids_lens",
        "XDG_SESSION_ID",
        "HF_HUB_DISABLE_IMPLICIT_TOKEN",
        "token.py",
        "NCCL_PROTO",
        "HF_HOME",
    ],
)
def test_others(name: str) -> None:
    assert not is_secret(name)


def test_no_option_of_any_vllm_is_hidden_but_those_that_take_secrets() -> None:
    known = json.loads((ROOT / "orchestrator" / "engines" / "vllm" / "options.json").read_text())
    names = {f"--{name}" for name in known["options"]}
    assert len(names) > 100
    assert {name for name in names if is_secret(name)} <= {"--api-key", "--hf-token"}


def test_no_variable_in_the_catalogue_is_hidden_but_those_that_are_secrets() -> None:
    files = [
        *(ROOT / "patches").glob("**/*.yaml"),
        *(ROOT / "playbooks").glob("*.yaml"),
        *(ROOT / "docs").glob("**/*.md"),
    ]
    names = {
        name
        for file in files
        for name in re.findall(r"\b(?:VLLM|NCCL|HF|CUDA|TORCH|RAY|TRITON|PYTORCH|FLASHINFER|GLOO|OMP)_[A-Z0-9_]+", file.read_text())
    }  # fmt: skip
    assert len(names) > 30
    assert {name for name in names if is_secret(name)} <= {"VLLM_API_KEY", "HF_TOKEN"}
