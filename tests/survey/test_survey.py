from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from pydantic import SecretStr

from orchestrator.base.data_folders import shipped
from orchestrator.base.errors import HostError
from orchestrator.hosts.local import LocalHost
from orchestrator.playbook import playbook as playbooks
from orchestrator.playbook.shape import Setting
from orchestrator.survey.survey import checkpoint, survey

FOUND = {
    "exists": True,
    "folder": "/models/kimi",
    "owner_uid": 0,
    "owned_by_us": True,
    "configs": {},
    "unreadable": {},
    "index": None,
    "manifest": None,
    "disk": {"free_bytes": 1},
}


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b"{", b"version https://git-lfs.github.com/spec/v1", '{"a": 1}'.encode("utf-16")],
    ids=["empty", "list", "cut", "pointer", "utf-16"],
)
def test_a_config_that_says_nothing_is_broken_and_not_absent(content: bytes) -> None:
    configs = {"config.json": base64.b64encode(content).decode()}
    found = checkpoint({**FOUND, "configs": configs})
    assert (dict(found.configs), found.unusable) == ({}, {"config.json": "is no JSON object"})


def test_a_config_that_was_not_read_is_not_absent_either() -> None:
    found = checkpoint({**FOUND, "unreadable": {"a.json": "is a folder, not a regular file"}})
    assert found.unusable == {"a.json": "is a folder, not a regular file"}


def test_a_byte_order_mark_is_named_since_no_engine_reads_past_it() -> None:
    content = '{"a": 1}'.encode("utf-8-sig")
    with pytest.raises(json.JSONDecodeError, match="BOM"):
        json.loads(content.decode())  # as vLLM and transformers read it
    found = checkpoint({**FOUND, "configs": {"config.json": base64.b64encode(content).decode()}})
    assert dict(found.configs) == {}
    assert found.unusable == {"config.json": "begins with a byte order mark, at which every engine stops"}


class Asked(LocalHost):
    """A host that notes what it is asked for, and is gone before it answers."""

    request: dict[str, Any]

    def script(self, module: str, request: Any, **_: Any) -> Any:
        assert module == "look"
        self.request = request
        raise HostError("connection_lost", "gone")


def test_the_engine_is_asked_for_with_the_playbooks_environment_without_its_secrets() -> None:
    kimi = playbooks.find("kimi-k2.5", [shipped("playbooks")])
    set_by_person = {
        "PYTHONPATH": Setting(value="/opt/vllm"),
        "HF_TOKEN": Setting(value=SecretStr("hf_1234567890")),
    }
    kimi = kimi.model_copy(update={"environment": {**kimi.environment, **set_by_person}})
    with Asked() as host, pytest.raises(HostError):
        survey(host, kimi)
    commands = host.request["facts"]["commands"]
    assert commands["engine"]["environment"]["PYTHONPATH"] == "/opt/vllm"
    assert "hf_1234567890" not in str(host.request)
    assert {name: asked["environment"] for name, asked in commands.items() if name != "engine"} == {
        name: {} for name in commands if name != "engine"
    }
