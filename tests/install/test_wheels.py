"""Wheels are sent to a host, this machine by its own programs: what is there is left, what was cut off goes on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.base.errors import PreflightRefused, UsageError
from orchestrator.base.events import Report
from orchestrator.hosts.local import LocalHost
from orchestrator.install import wheels
from orchestrator.install.wheels import send, wheels_of
from orchestrator.playbook.pinned import PinnedEngine
from orchestrator.programs.receive_wheels import MissingPart
from tests.jobs import Told

PINNED = PinnedEngine.of("vllm==0.16.0")
LARGE = b"0123456789" * 300_000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "wheels"
    folder.mkdir()
    (folder / "vllm-0.16.0-py3-none-any.whl").write_bytes(LARGE)
    (folder / "tea-1-py3-none-any.whl").write_bytes(b"tea")
    (folder / "README").touch()
    return folder


@pytest.fixture
def arrived(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    monkeypatch.setenv("HOME", str(home))
    return home / ".local/share/deploy/engines/vllm-0.16.0/wheels"


def sent(told: Told) -> int:
    (event,) = [event for event in told.events if event.kind == "step" and event.data["state"] == "ok"]
    assert isinstance(event.data["sent"], int)
    return event.data["sent"]


def test_what_is_there_is_not_sent_again(folder: Path, arrived: Path) -> None:
    with LocalHost() as host:
        for expected in (len(LARGE) + 3, 0):
            told = Told()
            send(host, Report(told, "gpu7"), PINNED, wheels_of(folder))
            assert sent(told) == expected
    assert sorted(path.name for path in arrived.iterdir()) == [
        "tea-1-py3-none-any.whl",
        "vllm-0.16.0-py3-none-any.whl",
    ]


def test_what_is_cut_off_goes_on(folder: Path, arrived: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = wheels._read

    def cut(path: Path, part: MissingPart, size: int) -> Iterator[bytes]:
        for number, data in enumerate(whole(path, part, size)):
            if number == 1:
                raise KeyboardInterrupt
            yield data

    with LocalHost() as host, monkeypatch.context() as patched:
        patched.setattr(wheels, "_read", cut)
        with pytest.raises(KeyboardInterrupt):
            send(host, Report(Told(), "gpu7"), PINNED, wheels_of(folder))
    told = Told()
    with LocalHost() as host:
        send(host, Report(told, "gpu7"), PINNED, wheels_of(folder))
    assert 0 < sent(told) < len(LARGE)
    assert (arrived / "vllm-0.16.0-py3-none-any.whl").read_bytes() == LARGE


def test_what_arrives_as_another_twice_is_told(
    folder: Path, arrived: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wheels, "_read", lambda path, part, size: iter([b"x" * (size - part.offset)]))
    with LocalHost() as host, pytest.raises(PreflightRefused) as raised:
        send(host, Report(Told(), "gpu7"), PINNED, wheels_of(folder))
    assert raised.value.code == "wheel_broken"
    assert list(arrived.iterdir()) == []


def test_a_folder_without_wheels(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "missing"):
        with pytest.raises(UsageError) as raised:
            wheels_of(folder)
        assert raised.value.code == "wheels_folder"
