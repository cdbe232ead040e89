"""Wheels are taken for an engine that is neither there nor being made, from one sender at a time."""

from __future__ import annotations

import fcntl
import hashlib
import io
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from orchestrator.on_host.programs import receive_wheels
from orchestrator.on_host.refusal import Refusal
from tests.on_host.programs.engine_rooms import room

DATA = b"a wheel"
FILE = {
    "name": "vllm-0.16.0-py3-none-any.whl",
    "size": len(DATA),
    "sha256": hashlib.sha256(DATA).hexdigest(),
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    tmp_path.chmod(0o700)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(receive_wheels.sys, "stdin", SimpleNamespace(buffer=io.BytesIO(DATA)))
    return tmp_path


def receive() -> list[dict[str, Any]]:
    return list(receive_wheels.main({"engine": "vllm", "version": "0.16.0", "files": [FILE]}))


def test_it_says_what_is_missing_and_takes_it(home: Path) -> None:
    assert receive() == [
        {"wanted": [{"name": FILE["name"], "offset": 0}]},
        {"name": FILE["name"], "sound": True},
    ]
    arrived = home / ".local/share/deploy/engines/vllm-0.16.0/wheels" / str(FILE["name"])
    assert arrived.read_bytes() == DATA
    assert receive() == [{"wanted": []}]


def test_for_an_engine_that_is_there_nothing_is_wanted(home: Path) -> None:
    room(home, "vllm-0.16.0", whole=True)
    assert receive() == [{"wanted": []}]


def test_what_is_being_made_from_earlier_ones_keeps_them(home: Path) -> None:
    ours = room(home, "vllm-0.16.0", whole=False)
    (ours / "wheels").mkdir()
    (ours / "wheels/another-1-py3-none-any.whl").touch()
    with (ours / "lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert receive() == [{"wanted": []}]
    assert [path.name for path in (ours / "wheels").iterdir()] == ["another-1-py3-none-any.whl"]


def test_two_do_not_send_at_once(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receive_wheels, "_PATIENCE_SECONDS", 0.0)
    ours = room(home, "vllm-0.16.0", whole=False)
    with (ours / "sending").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(Refusal) as refused:
            receive()
    assert refused.value.code == "wheels_busy"
