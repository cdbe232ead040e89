"""Wheels as they arrive: what is there is not asked for again, what is cut off goes on, what is broken is not kept."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path
from typing import Any

import pytest

from orchestrator.on_host.environments import sizes, wheels
from orchestrator.on_host.refusal import Refusal

DATA = b"0123456789" * 300_000
NAME = "vllm-0.16.0+cpu-cp38-abi3-manylinux_2_28_x86_64.whl"


def file(name: str = NAME, data: bytes = DATA) -> dict[str, Any]:
    return {"name": name, "size": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def receive(folder: Path, files: list[dict[str, Any]], data: bytes) -> list[dict[str, Any]]:
    wanted = wheels.begun(folder, files)
    return list(wheels.received(folder, files, wanted, io.BytesIO(data).read))


def test_they_arrive_one_after_the_other_and_are_not_asked_for_again(tmp_path: Path) -> None:
    folder, files = tmp_path / "wheels", [file(), file("uv", b"binary")]
    assert receive(folder, files, DATA + b"binary") == [
        {"name": NAME, "sound": True},
        {"name": "uv", "sound": True},
    ]
    assert (folder / NAME).read_bytes() == DATA
    assert wheels.begun(folder, files) == []


def test_what_was_cut_off_goes_on_where_it_was(tmp_path: Path) -> None:
    assert receive(tmp_path, [file()], DATA[:1_500_000]) == []
    assert not (tmp_path / NAME).exists()
    assert wheels.begun(tmp_path, [file()]) == [{"name": NAME, "offset": 1_500_000}]
    assert receive(tmp_path, [file()], DATA[1_500_000:]) == [{"name": NAME, "sound": True}]


def test_another_wheel_of_that_name_begins_anew_and_what_is_not_meant_goes(tmp_path: Path) -> None:
    receive(tmp_path, [file()], DATA[:1000])
    receive(tmp_path, [file("old-1-py3-none-any.whl")], DATA)
    other = file(data=DATA[::-1])
    assert wheels.begun(tmp_path, [other]) == [{"name": NAME, "offset": 0}]
    assert list(tmp_path.iterdir()) == []


def test_what_arrives_as_another_is_not_kept(tmp_path: Path) -> None:
    assert receive(tmp_path, [file()], DATA[::-1]) == [{"name": NAME, "sound": False}]
    assert wheels.begun(tmp_path, [file()]) == [{"name": NAME, "offset": 0}]


def test_a_disk_that_does_not_hold_them_is_told_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sizes, "free", lambda _: 1_000_000)
    with pytest.raises(Refusal) as refused:
        wheels.begun(tmp_path, [file()])
    assert refused.value.code == "install_no_space"


@pytest.mark.parametrize("name", ["../vllm.whl", "/x.whl", ".x.whl", "vllm.tar.gz", "uv.whl/x"])
def test_a_name_that_leads_elsewhere(tmp_path: Path, name: str) -> None:
    with pytest.raises(Refusal):
        wheels.begun(tmp_path, [file(name)])
