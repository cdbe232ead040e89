"""A rehearsal's SSH server in place of a host."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.hosts.connect import open_host
from orchestrator.hosts.host import Host
from orchestrator.rehearsal.ssh_server import SshServer
from tests.sshd import HOST_PATH


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The contract's tests ask for hosts of several kinds; here they are only run on the one that is remote."""
    here = Path(__file__).parent
    others = {
        item
        for item in items
        if isinstance(item, pytest.Function)
        and hasattr(item, "callspec")
        and item.callspec.params.get("host", "remote") != "remote"
        and here in item.path.parents
    }
    config.hook.pytest_deselected(items=[*others])
    items[:] = [item for item in items if item not in others]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshServer]:
    folder = tmp_path_factory.mktemp("server")
    home = folder / "home"
    home.mkdir()
    environment = {"HOME": str(home), "XDG_STATE_HOME": str(folder / "state"), "PATH": HOST_PATH}
    with SshServer(folder, environment) as running:
        yield running


@pytest.fixture(scope="module", params=["remote"])
def host(server: SshServer) -> Iterator[Host]:
    with open_host(server.alias, ssh_config=server.ssh_config) as remote:
        yield remote


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """An empty folder on the host."""
    return str(tmp_path)
