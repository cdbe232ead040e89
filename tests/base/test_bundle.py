"""Bundles of unknown failures: complete, private, without secrets."""

from __future__ import annotations

import os
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.base import bundle
from orchestrator.base.errors import UsageError


def test_a_bundle_holds_the_log_and_the_documents_and_is_private(tmp_path: Path) -> None:
    part = bundle.Contents(
        [b"a\n", b"b hf_0123456789\n"],
        {"plan": {"x": 1}},
        log_name="vllm.log",
        files={"STACK.log": "c\nd hf_0123456789\n"},
    )
    path = bundle.write("kimi/on host:1", part, into=tmp_path)
    assert path.stat().st_mode & 0o777 == 0o600
    with tarfile.open(path) as opened:
        content = {Path(m.name).name: opened.extractfile(m).read() for m in opened}  # type: ignore[union-attr]
    assert content == {"vllm.log": b"a\nb ***\n", "STACK.log": b"c\nd ***\n", "plan.json": b'{\n "x": 1\n}'}


def test_each_of_several_hosts_has_a_folder_of_its_own(tmp_path: Path) -> None:
    parts = [
        bundle.Contents([host.encode()], {"plan": host}, "vllm.log", folder=host)
        for host in ("gpu7", "ml@[fe80::1]:22")
    ]
    path = bundle.write("kimi", *parts, into=tmp_path)
    with tarfile.open(path) as opened:
        names = ["/".join(Path(name).parts[1:]) for name in opened.getnames()]
    assert names == [
        "gpu7/vllm.log",
        "gpu7/plan.json",
        "ml__fe80__1__22/vllm.log",
        "ml__fe80__1__22/plan.json",
    ]


def test_no_file_and_no_link_is_written_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle.time, "strftime", lambda _: "T")
    (tmp_path / "precious").write_text("x")
    (tmp_path / "kimi-T.tar.gz").symlink_to(tmp_path / "precious")
    paths = [
        bundle.write("kimi", bundle.Contents([b"a\n"], {}, "vllm.log"), into=tmp_path).name for _ in range(2)
    ]
    assert paths == ["kimi-T-2.tar.gz", "kimi-T-3.tar.gz"]
    assert (tmp_path / "precious").read_text() == "x"


def test_a_key_that_a_log_spreads_over_lines_is_not_in_it(tmp_path: Path) -> None:
    body = "MIIEpAIBAAKCAQEA7bq98Kd0sYx3vQ0pQ1TzR2mN4hL5jG6fD7sA8wE9rT0yU1iO"
    lines = ["-----BEGIN RSA PRIVATE KEY-----", body, "Q2FuYXJ5", "-----END RSA PRIVATE KEY-----", "and on"]
    log = [f"(EngineCore pid=7) ERROR 01-02 [x.py:3] {line}\n".encode() for line in lines]
    documents = {
        "plan": {"command": ["python", "--api-key", "canary1"], "environment": {"DB_PASS": "canary2"}}
    }
    path = bundle.write("kimi", bundle.Contents(log, documents, "vllm.log"), into=tmp_path)
    with tarfile.open(path) as opened:
        content = b"".join(opened.extractfile(m).read() for m in opened)  # type: ignore[union-attr]
    assert b"and on" in content
    for secret in (b"MIIE", b"Q2FuYXJ5", b"canary"):
        assert secret not in content


@pytest.mark.parametrize("name", ["a" * 255, "hf_0123456789", "x\n  bundle evil", "\udcff"])
def test_a_name_of_any_kind(name: str, tmp_path: Path) -> None:
    path = bundle.write(name, bundle.Contents([b"a\n"], {}, "vllm.log"), into=tmp_path)
    assert path.is_file() and "0123456789" not in path.name and path.name.isprintable()


@pytest.mark.parametrize("there", ["a file", "a link to nowhere", "a log that breaks off"])
def test_where_none_can_be_written(there: str, tmp_path: Path) -> None:
    into = tmp_path / "bundles"
    if there == "a file":
        into.write_text("x")
    if there == "a link to nowhere":
        into.symlink_to(tmp_path / "no" / "where")

    def log() -> Iterator[bytes]:
        yield b"a\n"
        raise OSError("no space left")

    with pytest.raises(UsageError) as raised:
        bundle.write("kimi", bundle.Contents(log(), {}, "vllm.log"), into=into)
    assert raised.value.code == "bundle_not_written"
    assert not into.is_dir() or list(into.iterdir()) == []


def test_the_folders_above_are_not_left_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They hold the state of deployments on this machine too, which is refused where others may write."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    before = os.umask(0)
    try:
        path = bundle.write("kimi", bundle.Contents([], {}, "vllm.log"))
    finally:
        os.umask(before)
    made = [one for one in (tmp_path / "state").rglob("*") if one.is_dir()]
    assert {one.stat().st_mode & 0o777 for one in (tmp_path / "state", *made)} == {0o700}
    assert path.parent in made
