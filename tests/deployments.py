"""A deployment of its own for a test: one playbook on a real sshd, with stand-ins for the engine and the cards.

tests/stand_in says what is real. The fixtures are known to every test.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.programs.journal import UnreadableRecord, read
from tests import stand_in, tiny_mla
from tests.deploy import Deploy
from tests.hub import Hub
from tests.ports import free_port
from tests.sshd import PLAIN_USER, NoSshd, Settings, Sshd, end_engines, end_sshd, launch_sshd, plain_user

REPOSITORY = "deploy-tests/tiny-mla"


@pytest.fixture(scope="module")
def repositories(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hub")
    tiny_mla.make(folder / REPOSITORY)
    return folder


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> stand_in.StandIn:
    return stand_in.make(tmp_path_factory.mktemp("env") / "vllm-0.16.0")


@pytest.fixture(scope="module")
def server(engine: stand_in.StandIn) -> Iterator[Sshd]:
    running = launch_sshd(Settings(environment={"PATH": engine.path}))
    yield running
    end_sshd(running)


@pytest.fixture(scope="module")
def plain_engine() -> Iterator[stand_in.StandIn]:
    """Where a user without privileges can read it, on an interpreter that such a user can run."""
    system = Path("/usr/bin/python3")
    if not system.exists():
        pytest.skip("there is no /usr/bin/python3 for a user without privileges")
    folder = Path(tempfile.mkdtemp(prefix="stand-in-"))
    folder.chmod(0o755)
    yield stand_in.make(folder / "vllm-0.16.0", base=system)
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def plain_server(plain_engine: stand_in.StandIn) -> Iterator[Sshd]:
    try:
        running = launch_sshd(Settings(user=plain_user(), environment={"PATH": plain_engine.path}))
    except NoSshd as reason:
        pytest.skip(str(reason))
    yield running
    end_sshd(running)


class Case:
    """One playbook of its own on the test host, with a Hub to download from."""

    def __init__(self, name: str, server: Sshd, engine: stand_in.StandIn, hub: Hub, folder: Path) -> None:
        self.name = name
        self.server = server
        self.hub = hub
        self.checkpoint = folder / "checkpoint"
        self.home = folder / "home"
        self.home.mkdir()
        self.path = folder / f"{name}.yaml"
        self.content = {
            "model": {"repository": REPOSITORY, "served_name": "tiny"},
            "checkpoint": {"folder": str(self.checkpoint)},
            "engine": {"version": ">=0.15", "python": engine.python},
            "parallel": {"tensor": 8},
            "context": 256,
            "environment": {"HF_ENDPOINT": hub.endpoint},
            "port": free_port(),
            "needs": {"gpus": 8, "gpu_memory_gib": 90},
            "ready_timeout": 60,
        }
        self.write()
        self.deploy = Deploy(server, self.path, self.home)

    def write(self) -> None:
        self.path.write_text(json.dumps(self.content))

    def fault(self, name: str) -> None:
        self.content["environment"] = {"HF_ENDPOINT": self.hub.endpoint, "STAND_IN_FAULT": name}
        self.write()

    @property
    def state(self) -> Path:
        return self.server.state_home / "deploy" / self.name

    def journal(self) -> list[dict[str, object]]:
        records = [json.loads(line) for line in (self.state / "journal.jsonl").read_text().splitlines()]
        assert not any(isinstance(read(record), UnreadableRecord) for record in records)
        return records

    def actions(self) -> list[object]:
        return [record["action"] for record in self.journal()]

    def config(self, name: str = "config.json") -> bytes:
        return (self.checkpoint / name).read_bytes()


@pytest.fixture
def case(
    request: pytest.FixtureRequest,
    server: Sshd,
    engine: stand_in.StandIn,
    repositories: Path,
    tmp_path: Path,
) -> Iterator[Case]:
    name = request.node.name.removeprefix("test_")[:40].strip("_").replace("[", "-").replace("]", "")
    with Hub(repositories) as hub:
        case = Case(name.replace("_", "-"), server, engine, hub, tmp_path)
        yield case
        end_engines(case.server)


@pytest.fixture
def plain_case(
    plain_server: Sshd, plain_engine: stand_in.StandIn, repositories: Path, tmp_path: Path
) -> Iterator[Case]:
    """As a user without privileges, with the checkpoint in place already."""
    with Hub(repositories) as hub:
        case = Case("plain", plain_server, plain_engine, hub, tmp_path)
        case.checkpoint = plain_server.home / "checkpoint"
        shutil.copytree(repositories / REPOSITORY, case.checkpoint)
        for path in (case.checkpoint, *case.checkpoint.iterdir()):
            shutil.chown(path, PLAIN_USER)
        case.content["checkpoint"] = {"folder": "~/checkpoint"}
        case.write()
        yield case
        end_engines(case.server)


def original(repositories: Path, name: str) -> bytes:
    return (repositories / REPOSITORY / name).read_bytes()
