"""Another engine is a folder: it is deployed, diagnosed and stopped without a line changed elsewhere."""

from __future__ import annotations

import json
import re
import shutil
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import patch

import pytest
from click.testing import CliRunner

from orchestrator import engines
from orchestrator.base import log_file
from orchestrator.cli.diagnose import diagnose
from orchestrator.engines import registry
from orchestrator.on_host.footprint import Footprint
from orchestrator.patches.known import Known
from orchestrator.patches.patch import Patch
from orchestrator.patches.propose import ways
from tests import stand_in
from tests.deploy import held_in_shm
from tests.deployments import Case
from tests.diagnosis.test_second_grammar import DIES, START
from tests.hub import Hub
from tests.sshd import Settings, Sshd

HERE = Path(__file__).parent


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The second engine is a folder among the others."""
    monkeypatch.setattr(engines, "__path__", [*engines.__path__, str(HERE)])
    registry.kinds.cache_clear()
    yield
    registry.kinds.cache_clear()
    registry.get.cache_clear()


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
        case.content["engine"] = {"kind": "sglang", "version": ">=0.5", "python": environment.python}
        case.write()
        yield case
        case.deploy("stop", "PLAYBOOK")


def test_it_is_deployed_asked_read_and_stopped(second: Case) -> None:
    left = second.deploy("PLAYBOOK", "--json")
    assert left.code == 0, left.out + left.err
    (result,) = left.of("result")
    assert result["healthy"] is True
    phases = [event["phase"] for event in left.of("progress") if "phase" in event]
    assert phases[-1] == "up"
    log = second.deploy("logs", "PLAYBOOK")
    assert "fired up and ready to roll" in log.out
    assert (second.state / "launches/1/sglang.log").exists()
    record = json.loads((second.state / "launches/1/process.json").read_text())
    assert Footprint.of(record["footprint"]) == registry.get("sglang").footprint
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
    assert plan["engine"]["kind"] == "sglang"
    assert plan["engine"]["version"] == "0.5.23"
    command = plan["command"]
    assert command[1:3] == ["-m", "sglang.launch_server"]
    assert command[command.index("--context-length") + 1] == "256"
    assert plan["predictions"] == []


def test_its_failure_is_read_to_the_root(second: Case) -> None:
    second.content["environment"] = {"HF_ENDPOINT": second.hub.endpoint, "SECOND_FAULT": "memory"}
    second.write()
    left = second.deploy("PLAYBOOK", "--json")
    assert left.code == 7, left.out + left.err
    (finding,) = left.of("finding")
    root = finding["diagnosis"]["root_cause"]
    assert "Not enough memory. Please try to increase --mem-fraction-static" in root["text"]
    assert (root["process"], root["exception"]) == ("TP0", "RuntimeError")
    assert [record["result"] for record in second.journal() if record["action"] == "outcome"] == ["failed"]


@pytest.mark.parametrize("options", [(), ("--engine", "sglang"), ("--follow",)])
def test_a_log_of_its_own_is_diagnosed_by_itself(
    known: None, tmp_path: Path, options: tuple[str, ...]
) -> None:
    log = START + DIES
    (tmp_path / "x.log").write_bytes(log)
    file = "-" if "--follow" in options else str(tmp_path / "x.log")
    with patch.object(log_file, "follow", lambda file: iter([(b"", 1.0), (log, 0.0)])):
        left = CliRunner().invoke(diagnose, [file, "--json", *options])
    root = json.loads(left.stdout)["root_cause"]
    assert (root["process"], root["exception"]) == ("TP1", "RuntimeError")
    assert "Not enough memory" in root["text"]


def test_its_bundle_names_the_log_as_it_does(
    known: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    (tmp_path / "x.log").write_bytes(START + DIES)
    left = CliRunner().invoke(diagnose, ["x.log", "--bundle"])
    (bundle,) = re.findall(r"bundle  (.+)", left.output)
    with tarfile.open(bundle) as packed:
        assert [name.rpartition("/")[2] for name in packed.getnames() if name.endswith(".log")] == [
            "sglang.log"
        ]


@pytest.mark.parametrize(
    ("action", "kind", "taken"),
    [
        ({"kind": "flag", "name": "--model-path", "op": "set", "value": "x"}, "vllm", True),
        ({"kind": "flag", "name": "--model-path", "op": "set", "value": "x"}, "sglang", False),
        ({"kind": "flag", "name": "--model-path", "op": "remove"}, "sglang", False),
        ({"kind": "flag", "name": "--mem-fraction-static", "op": "set", "value": "0.9"}, "sglang", True),
        ({"kind": "env", "name": "NCCL_P2P_DISABLE", "op": "set", "value": "1"}, "sglang", True),
        ({"kind": "env", "name": "{what}", "op": "remove"}, "sglang", True),
        ({"kind": "env", "name": "{what}", "op": "remove"}, "vllm", False),
    ],
)
def test_a_remedy_touches_what_the_engine_that_runs_lets_it(
    known: None, action: dict[str, str], kind: str, taken: bool
) -> None:
    match = {"text": "a", "pattern": "(?P<what>SGLANG_[A-Z]{1,9})"}
    read = Patch.model_validate(
        {"id": "p", "title": "t", "category": "other", "match": [match], "remedy": [action], "cost": "none"}
    )
    assert bool(ways(read, Known(kind=kind, groups={"what": "SGLANG_X"}))) is taken
