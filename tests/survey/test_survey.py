"""What a host is asked before anything is planned."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import SecretStr

from orchestrator.base.data_folders import shipped
from orchestrator.base.errors import HostError
from orchestrator.hosts.local import LocalHost
from orchestrator.playbook import playbook as playbooks
from orchestrator.playbook.setting import Setting
from orchestrator.survey.survey import survey


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
