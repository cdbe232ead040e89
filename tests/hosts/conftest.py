"""Hosts for the contract tests: this machine, a server, and a server for a user without privileges."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.hosts import ship
from orchestrator.hosts.connect import open_host
from orchestrator.hosts.host import Host

PROGRAMS = Path(__file__).parent / "programs"


@pytest.fixture(autouse=True)
def test_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """`Host.script` finds the programs of this folder too."""
    shipped = ship._source

    def source(module: str) -> str:
        ours = PROGRAMS / f"{module.removeprefix('programs.')}.py"
        return ours.read_text() if ours.is_file() else shipped(module)

    monkeypatch.setattr(ship, "_source", source)


@pytest.fixture(scope="module", params=["local", "remote"])
def host(request: pytest.FixtureRequest) -> Iterator[Host]:
    if request.param == "local":
        with open_host("local") as local:
            yield local
        return
    server = request.getfixturevalue({"remote": "sshd", "plain user": "plain_sshd"}[request.param])
    with open_host(server.alias, ssh_config=server.ssh_config) as remote:
        yield remote


@pytest.fixture
def folder(host: Host) -> Iterator[str]:
    """An empty folder on the host, its user's own."""
    path = host.run("mktemp -d").stdout.decode().strip()
    yield path
    host.run(f"rm -rf {path}")
