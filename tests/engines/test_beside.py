"""What runs code besides the model, by the spellings that vLLM's parser takes."""

from __future__ import annotations

import pytest

from orchestrator.engines.vllm.beside import named_beside

COMMIT = "0123456789abcdef" * 2 + "01234567"


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--tokenizer", "org/other"], ["org/other"]),
        (["--tokenizer=org/other"], ["org/other"]),
        (["--tokenizer", "/models/m"], []),
        (["--tokenizer", "org/other", "--tokenizer-revision", "main"], ["org/other"]),
        (["--tokenizer", "org/other", "--tokenizer-revision", COMMIT], []),
        (["--tokenizer-mode", "auto"], []),
        (["--hf_config", "org/other"], ["org/other"]),
        (["--speculative-config", '{"model":"org/draft"}'], ["org/draft"]),
        (["--speculative_config.model", "org/draft"], ["org/draft"]),
        (["--speculative-config", f'{{"model":"org/draft","revision":"{COMMIT}"}}'], []),
        (["--spec-model", "org/draft"], ["org/draft"]),
        (["--hf-overrides", '{"auto_map":{"AutoModel":"x.Y"}}'], ["--hf-overrides"]),
        (["--max-num-seqs", "8"], []),
        (["--hf-overrides.auto_map.AutoModel", "x.Y"], ["--hf-overrides.auto_map.AutoModel"]),
        (["--", "x", "--tokenizer", "org/other"], ["org/other"]),
        (["--hf-token", "x", "--specials", "y"], []),
        (
            ["--speculative-config", f'{{"model":"org/draft","revision":"main","code_revision":"{COMMIT}"}}'],
            [],
        ),
        (
            ["--speculative-config", f'{{"model":"org/draft","revision":"{COMMIT}","code_revision":"main"}}'],
            ["org/draft"],
        ),
        (["--tokenizer", "org/a", "--spec-model", "org/b"], ["org/a", "org/b"]),
    ],
)
def test_what_no_commit_binds(options: list[str], named: list[str]) -> None:
    assert list(named_beside(("python", "--model", "/models/m", *options), "/models/m")) == named
