"""How a deployment stands, in a word."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.base.data_folders import shipped
from orchestrator.playbook import playbook as playbooks
from orchestrator.survey.status import describe
from tests.survey.test_observed import observed


@pytest.mark.parametrize(
    ("answer", "journal", "state"),
    [
        ({}, [], "never launched"),
        ({"launch": 1, "process": {"alive": True}}, [], "starting"),
        ({"launch": 1, "process": {"alive": True}}, ["failed"], "running, not healthy"),
        ({"launch": 1, "process": {"alive": False, "members": [{"pid": 3, "name": "x", "rss_bytes": 1}]}}, ["failed"], "dead, orphans alive"),
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


@pytest.mark.parametrize(
    ("note", "asked"),
    [
        ({"context": 131072}, 131072),
        ({"context": "auto"}, "auto"),
        ({"context": [1]}, None),
        ({}, None),
        (None, None),
    ],
)
def test_the_context_that_was_asked_for_is_that_of_the_launch(note: Any, asked: Any) -> None:
    kimi = playbooks.find("kimi-k2.5", [shipped("playbooks")])
    told = describe("h", kimi, *observed(launch=1, command={"argv": [], "note": note}, context=46112))
    assert (told["context"], told["asked_context"]) == (46112, asked)


@pytest.mark.parametrize(("server", "context"), [(262144, 46096), (32768, 32768), (None, None)])
def test_the_context_is_the_fewest_of_servers_and_record(server: Any, context: Any) -> None:
    journal = [
        {"action": "launch", "launch": 1, "machine": "here"},
        {"action": "outcome", "launch": 1, "result": "healthy", "context": 46096, "machine": "here"},
    ]
    kimi = playbooks.find("kimi-k2.5", [shipped("playbooks")])
    assert describe("h", kimi, *observed(launch=1, context=server, journal=journal))["context"] == context
