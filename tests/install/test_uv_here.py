"""The uv for a host that gets none: this machine's, kept, and never another than the pinned one."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from orchestrator.hosts.host import Completed
from orchestrator.install import uv_here
from orchestrator.on_host.environments import uv
from orchestrator.on_host.environments.failure import InstallFailure
from tests.jobs import Answering


class Machine(Answering):
    """A host that says what it is."""

    def run(self, command: str, **_: Any) -> Completed:
        assert command == "uname -m"
        return Completed(0, b"riscv64\n", b"")


@pytest.fixture
def fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """For which machines a wheel was fetched."""
    machines: list[str] = []

    def fetch(machine: str) -> bytes:
        machines.append(machine)
        return b"a wheel"

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setitem(uv.WHEELS, "riscv64", ("uv.whl", hashlib.sha256(b"a wheel").hexdigest()))
    monkeypatch.setattr(uv, "fetched_here", fetch)
    return machines


def test_it_is_fetched_once_and_kept(fetched: list[str], tmp_path: Path) -> None:
    for _ in range(2):
        path = uv_here.uv_for(Machine())
        assert path == tmp_path / "deploy" / "uv" / "uv.whl"
        assert path.read_bytes() == b"a wheel"
    assert fetched == ["riscv64"]


def test_what_somebody_changed_there_is_fetched_again(fetched: list[str]) -> None:
    path = uv_here.uv_for(Machine())
    assert path is not None
    path.write_bytes(b"another")
    assert uv_here.uv_for(Machine()) == path
    assert path.read_bytes() == b"a wheel"
    assert len(fetched) == 2


def test_where_this_machine_gets_none_there_is_none(
    fetched: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(machine: str) -> bytes:
        raise InstallFailure("uv_missing", "no index has it")

    monkeypatch.setattr(uv, "fetched_here", fail)
    assert uv_here.uv_for(Machine()) is None
