"""Bundles of unknown failures: complete, private, without secrets."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from orchestrator import bundle


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        (b"HF_TOKEN=hf_abcdefghijklmnop next", b"hf_abcdefghijklmnop"),
        (b"Authorization: Bearer abc.def-123456", b"abc.def-123456"),
        (b"non-default args: {'api_key': ['sk-verysecret'], 'port': 1}", b"sk-verysecret"),
        (b"vllm serve m --api-key sk-verysecret --port 1", b"sk-verysecret"),
        (b"https://user:pass1234@mirror/x", b"pass1234"),
        (b"VLLM_API_KEY=topsecret", b"topsecret"),
        (b"{'VLLM_API_KEY': 'topsecret'}", b"topsecret"),
        (b"VLLM_API_KEY: topsecret", b"topsecret"),
        (b"{'HF_TOKEN': 'tok123'}", b"tok123"),
        (b"hf_token='tok123', tokenizer='m'", b"tok123"),
        (b"AWS_SECRET_ACCESS_KEY=abc/def", b"abc/def"),
        (b"Authorization: Basic dXNlcjpwYXNz", b"dXNlcjpwYXNz"),
        (b"authorization: bearer abc.def-123456", b"abc.def-123456"),
        (b"https://tok123@host/x", b"tok123"),
        (b"api_key=['k1secret', 'k2secret']", b"k2secret"),
    ],
)
def test_secrets_become_stars(text: bytes, secret: bytes) -> None:
    shown = bundle.redact(text)
    assert secret not in shown
    assert bundle.STARS in shown


def test_what_is_no_secret_stays() -> None:
    text = (
        b"ValueError: max_num_batched_tokens=8192 tokens: 3 hf_quant_config.json --port 8000 tokenizer='/m' "
        b"tokenizer_mode=auto max_tokens: 8, GPU KV cache size: 189,952 tokens hf_token=None token_ids=[1, 2]"
    )
    assert bundle.redact(text) == text


def test_a_bundle_holds_the_log_and_the_documents_and_is_private(tmp_path: Path) -> None:
    path = bundle.write("kimi/on host:1", [b"a\n", b"b hf_0123456789\n"], {"plan": {"x": 1}}, into=tmp_path)
    assert path.stat().st_mode & 0o777 == 0o600
    with tarfile.open(path) as opened:
        content = {Path(m.name).name: opened.extractfile(m).read() for m in opened}  # type: ignore[union-attr]
    assert content == {"vllm.log": b"a\nb ***\n", "plan.json": b'{\n "x": 1\n}'}


def test_no_file_and_no_link_is_written_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle.time, "strftime", lambda _: "T")
    (tmp_path / "precious").write_text("x")
    (tmp_path / "kimi-T.tar.gz").symlink_to(tmp_path / "precious")
    paths = [bundle.write("kimi", [b"a\n"], {}, into=tmp_path).name for _ in range(2)]
    assert paths == ["kimi-T-2.tar.gz", "kimi-T-3.tar.gz"]
    assert (tmp_path / "precious").read_text() == "x"
