from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

import pytest
from pydantic import SecretStr

from orchestrator.base.data_folders import shipped
from orchestrator.base.errors import HostError
from orchestrator.hosts.local import LocalHost
from orchestrator.playbook import playbook as playbooks
from orchestrator.playbook.shape import Setting
from orchestrator.survey.journal import History
from orchestrator.survey.survey import Observed, checkpoint, describe, observe, survey

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


class Answered(LocalHost):
    """A host whose programs answer what they are made to."""

    answer: Mapping[str, Any]

    def script(self, module: str, request: Any, **_: Any) -> Any:
        return self.answer


QUIET: Mapping[str, Any] = {
    "launch": None,
    "process": None,
    "command": None,
    "endpoint": {"host": "127.0.0.1", "port": 8000, "model": None},
    "log": None,
    "health": None,
    "models": [],
    "listener": None,
    "shm": {"entries": 0, "bytes": 0},
    "journal": [],
    "turn": "",
    "machine": "here",
    "boot_id": "b",
}


def observed(**answer: Any) -> tuple[Observed, History]:
    kimi = playbooks.find("kimi-k2.5", [shipped("playbooks")])
    with Answered() as host:
        host.answer = {**QUIET, **answer}
        return observe(host, kimi)


def test_a_journal_in_a_home_folder_that_machines_share_counts_for_each_of_them_alone() -> None:
    there = {"action": "launch", "launch": 4, "machine": "there"}
    here = {"action": "launch", "launch": 2, "machine": "here"}
    seen, history = observed(journal=[here, there, {"action": "launch", "launch": 7}])
    assert (seen.journal, history.launch, history.attempts) == ((here,), 2, 1)
    nothing = observed(journal=[there])
    assert (nothing[0].journal, nothing[1]) == ((), History())


def test_a_record_that_says_nothing_is_kept_for_people_to_see() -> None:
    broken = {"action": "launch", "launch": "x", "machine": "here", "at": "2026-02-20"}
    seen, history = observed(journal=[broken])
    shown = {"at": "2026-02-20", "machine": "here", "action": "unreadable", "record": broken}
    assert (seen.journal, history) == ((shown,), History())


@pytest.mark.parametrize(
    ("answer", "journal", "state"),
    [
        ({}, [], "never launched"),
        ({"launch": 1, "process": {"alive": True}}, [], "starting"),
        ({"launch": 1, "process": {"alive": True}}, ["failed"], "running, not healthy"),
        ({"launch": 1, "process": {"alive": False, "members": [{"pid": 3}]}}, ["failed"], "dead, orphans alive"),
        ({"launch": 1, "process": {"alive": False, "members": []}}, ["failed"], "dead"),
        ({"launch": 1, "process": {"alive": False, "members": []}}, ["stopped"], "stopped"),
        ({"launch": 1, "process": None, "listener": {"ours": True}}, [], "starting"),
        ({"launch": 1, "process": None, "listener": {"ours": False}}, [], "dead"),
    ],
)  # fmt: skip
def test_the_state_in_a_word(answer: dict[str, Any], journal: list[str], state: str) -> None:
    records: list[dict[str, Any]] = [{"action": "launch", "launch": 1, "machine": "here"}]
    records += [
        {"action": "stop", "machine": "here"}
        if result == "stopped"
        else {"action": "outcome", "launch": 1, "result": result, "machine": "here"}
        for result in journal
    ]
    kimi = playbooks.find("kimi-k2.5", [shipped("playbooks")])
    assert describe("h", kimi, *observed(**answer, journal=records))["state"] == state
