"""Another engine is a folder: it is deployed, diagnosed and stopped without a line changed elsewhere."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from orchestrator import engines
from orchestrator.engines import registry
from orchestrator.on_host.footprint import Footprint
from tests import stand_in
from tests.deploy import held_in_shm
from tests.deployments import Case
from tests.hub import Hub
from tests.sshd import Settings, Sshd

HERE = Path(__file__).parent


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The second engine is a folder among the others."""
    monkeypatch.setattr(engines, "__path__", [*engines.__path__, str(HERE)])
    for remembered in (registry.kinds, registry.launched):
        remembered.cache_clear()
    yield
    for remembered in (registry.kinds, registry.launched, registry.read):
        remembered.cache_clear()


@pytest.fixture
def second(
    known: None,
    tmp_path: Path,
    repositories: Path,
    start_sshd: Callable[[Settings], Sshd],
) -> Iterator[Case]:
    """A deployment of a playbook that asks for the second engine, on a host that has it and no other."""
    environment = stand_in.make(tmp_path / "env", version="")
    (packages,) = environment.folder.glob("lib/*/site-packages")
    (packages / "sglang").mkdir()
    (packages / "sglang" / "__init__.py").touch()
    shutil.copy(HERE / "launch_server.py", packages / "sglang")
    (packages / "sglang-0.5.23.dist-info").mkdir()
    (packages / "sglang-0.5.23.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: sglang\nVersion: 0.5.23\n"
    )
    server = start_sshd(Settings(environment={"PATH": environment.path}))
    with Hub(repositories) as hub:
        case = Case("second", server, environment, hub, tmp_path)
        case.content["engine"] = {"kind": "second", "version": ">=0.5", "python": environment.python}
        case.write()
        yield case


def test_it_is_deployed_asked_read_and_stopped(second: Case) -> None:
    left = second.deploy("PLAYBOOK", "--json")
    assert left.code == 0, left.out + left.err
    (result,) = left.of("result")
    assert result["healthy"] is True
    phases = [event["phase"] for event in left.of("progress") if "phase" in event]
    assert phases[-1] == "up"
    log = second.deploy("logs", "PLAYBOOK")
    assert "fired up and ready to roll" in log.out
    assert (second.state / "launches/1/second.log").exists()
    record = json.loads((second.state / "launches/1/process.json").read_text())
    assert Footprint.of(record["footprint"]) == registry.get("second").footprint
    again = second.deploy("PLAYBOOK", "--json")
    assert again.code == 0
    assert second.actions().count("launch") == 1
    (shared,) = held_in_shm(json.loads(second.deploy("status", "PLAYBOOK", "--json").out)["members"])
    assert second.deploy("stop", "PLAYBOOK").code == 0
    assert not Path("/dev/shm", shared).exists()


def test_its_plan_speaks_its_options(second: Case) -> None:
    left = second.deploy("plan", "PLAYBOOK", "--json")
    assert left.code == 0, left.out + left.err
    (plan,) = left.events
    assert plan["engine"]["kind"] == "second"
    assert plan["engine"]["version"] == "0.5.23"
    command = plan["command"]
    assert command[1:3] == ["-m", "sglang.launch_server"]
    assert command[command.index("--context-length") + 1] == "256"
    assert plan["predictions"] == []


def test_its_failure_is_read_to_the_root(second: Case) -> None:
    second.content["environment"] = {"HF_ENDPOINT": second.hub.endpoint, "SECOND_FAULT": "memory"}
    second.write()
    left = second.deploy("PLAYBOOK", "--json")
    assert left.code == 6, left.out + left.err
    (finding,) = left.of("finding")
    root = finding["diagnosis"]["root_cause"]
    assert "Not enough memory. Please try to increase --mem-fraction-static" in root["text"]
    assert (root["process"], root["exception"]) == ("TP0", "RuntimeError")
    assert finding["diagnosis"]["finding"]["patch"] == "engine-refused"  # no patch is this engine's
    assert "Please try to increase --mem-fraction-static" in finding["diagnosis"]["remedy"]["advice"][0]
    assert [record["result"] for record in second.journal() if record["action"] == "outcome"] == ["failed"]
