"""Whatever stands in a file's place is told at once."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from orchestrator.on_host.files import regular_file
from orchestrator.on_host.files.regular_file import TooLarge, Unfit
from tests.odd_files import UNREADABLE, put


@pytest.mark.parametrize("kind", UNREADABLE)
def test_what_is_no_file_is_told(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "a"
    put(path, kind)
    with pytest.raises(Unfit) as caught:
        regular_file.read(path, 10)
    assert str(caught.value) == UNREADABLE[kind]
    assert not regular_file.is_one(path)
    assert regular_file.read_json(path, 10) is None


def test_a_file_is_read_through_links_up_to_a_limit(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"0123456789")
    (tmp_path / "b").symlink_to("a")
    assert regular_file.read(tmp_path / "b", 10) == b"0123456789"
    with pytest.raises(TooLarge, match="is too large: 10 bytes, at most 9 are read"):
        regular_file.read(tmp_path / "b", 9)


def test_a_file_without_end_takes_no_memory(tmp_path: Path) -> None:
    with (tmp_path / "a").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(TooLarge):
        regular_file.read(tmp_path / "a", 1 << 20)
    # a file of /proc tells no size
    with pytest.raises(TooLarge):
        regular_file.read("/proc/self/maps", 10)


def test_a_file_that_tells_no_size_is_read_to_its_end() -> None:
    assert (
        regular_file.read("/proc/self/status", 1 << 20)
        .splitlines()[-1]
        .startswith(b"nonvoluntary_ctxt_switches:")
    )


@pytest.mark.parametrize("name", ["a\0b", "a\udc80b\ud800", "x" * 300])
def test_a_name_that_no_file_can_have(tmp_path: Path, name: str) -> None:
    with pytest.raises(Unfit):
        regular_file.read(f"{tmp_path}/{name}", 10)
    assert not regular_file.is_one(f"{tmp_path}/{name}")


def test_nothing_is_left_open(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    before = len(os.listdir("/proc/self/fd"))
    for name in ("pipe", ".", "none"):
        with pytest.raises(Unfit):
            regular_file.opened(tmp_path / name)
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize(
    "raw",
    [b"", b"{", b"\xff", b"\xef\xbb\xbf{}", b"[" * 100_000, b"1" * 5000, json.dumps({}).encode("utf-16")],
)
def test_broken_json_is_none(tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "a").write_bytes(raw)
    assert regular_file.read_json(tmp_path / "a", 1 << 20) is None
