"""What a host is asked before anything is planned."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from orchestrator.base.data_folders import shipped
from orchestrator.base.errors import HostError
from orchestrator.facts.examined import environments
from orchestrator.facts.source import Unknown
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


class Counted(LocalHost):
    """This machine, which notes the programs that it is asked to run."""

    def __init__(self) -> None:
        super().__init__()
        self.programs: list[str] = []

    def script(self, module: str, request: Any, **more: Any) -> Any:
        self.programs.append(module)
        return super().script(module, request, **more)


@pytest.mark.parametrize("wanted", [">=0.15", ">=0.19", None])
def test_other_engines_are_looked_for_where_the_named_python_has_no_right_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wanted: str | None
) -> None:
    """None: the named Python has none at all."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for place, version in (("named", "0.16.0"), ("other-env", "0.19.1")):
        info = tmp_path / place / "lib" / "python3.12" / "site-packages" / f"vllm-{version}.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {version}\n")
    kimi = playbooks.find("kimi-k2.5", [shipped("playbooks")])
    site = Setting(value=str(tmp_path / "named/lib/python3.12/site-packages" if wanted else tmp_path))
    engine = kimi.engine.model_copy(update={"python": sys.executable, "version": wanted or ">=0.15"})
    kimi = kimi.model_copy(update={"engine": engine, "environment": {"PYTHONPATH": site}})
    with Counted() as host:
        facts = survey(host, kimi).facts
    other = facts.of(environments.FACT)
    if wanted == ">=0.15":
        assert host.programs == ["look"]
        assert isinstance(other, Unknown) and other.code == "not_asked"
    else:
        assert host.programs == ["look", "read_facts"]
        assert not isinstance(other, Unknown)
        assert "0.19.1" in [environment.version for environment in other]
