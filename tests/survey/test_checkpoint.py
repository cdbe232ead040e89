"""What is said of a checkpoint's config files before anything is planned."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from orchestrator.programs.inspect_checkpoint import Inspected
from orchestrator.survey.checkpoint import Checkpoint, checkpoint

FOUND = {
    "exists": True,
    "folder": "/models/kimi",
    "owner_uid": 0,
    "owned_by_us": True,
    "configs": {},
    "unreadable": {},
    "index": None,
    "weights_bytes": None,
    "manifest": None,
    "disk": {"free_bytes": 1, "total_bytes": 2},
    "writable": True,
    "symlinks": {},
    "code": None,
}


def found(**more: Any) -> Checkpoint:
    return checkpoint(Inspected.model_validate({**FOUND, **more}))


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b"{", b"version https://git-lfs.github.com/spec/v1", '{"a": 1}'.encode("utf-16")],
    ids=["empty", "list", "cut", "pointer", "utf-16"],
)
def test_a_config_that_says_nothing_is_broken_and_not_absent(content: bytes) -> None:
    configs = {"config.json": base64.b64encode(content).decode()}
    there = found(configs=configs)
    assert (dict(there.configs), there.unusable) == ({}, {"config.json": "is no JSON object"})


def test_a_config_that_was_not_read_is_not_absent_either() -> None:
    there = found(unreadable={"a.json": "is a folder, not a regular file"})
    assert there.unusable == {"a.json": "is a folder, not a regular file"}


def test_a_byte_order_mark_is_named_since_no_engine_reads_past_it() -> None:
    content = '{"a": 1}'.encode("utf-8-sig")
    with pytest.raises(json.JSONDecodeError, match="BOM"):
        json.loads(content.decode())  # as vLLM and transformers read it
    there = found(configs={"config.json": base64.b64encode(content).decode()})
    assert dict(there.configs) == {}
    assert there.unusable == {"config.json": "begins with a byte order mark, at which every engine stops"}


def test_files_that_are_all_there_tell_their_size_before_an_index_does() -> None:
    index = {"total_size": 7, "shards": ["a"], "present": ["a"], "missing": [], "broken": False}
    assert found(index=index, weights_bytes=5).weights_bytes == 5
    assert found(index={**index, "present": [], "missing": ["a"]}).weights_bytes == 7
    assert found(weights_bytes=5).weights_bytes == 5
    assert found().weights_bytes is None
