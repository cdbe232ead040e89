"""A rehearsal's SSH server in place of a host."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.rehearsal.ssh_server import SshServer
from orchestrator.ssh.connect import open_host
from orchestrator.ssh.host import Host
from tests.sshd import HOST_PATH


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshServer]:
    folder = tmp_path_factory.mktemp("server")
    home = folder / "home"
    home.mkdir()
    environment = {"HOME": str(home), "XDG_STATE_HOME": str(folder / "state"), "PATH": HOST_PATH}
    with SshServer(folder, environment) as running:
        yield running


@pytest.fixture(scope="module", params=["remote"])
def host(request: pytest.FixtureRequest, server: SshServer) -> Iterator[Host]:
    """For the contract's tests, which ask for hosts of several kinds: this one is remote."""
    if request.param != "remote":
        pytest.skip("the contract of another host")
    with open_host(server.alias, ssh_config=server.ssh_config) as remote:
        yield remote


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """An empty folder on the host."""
    return str(tmp_path)
