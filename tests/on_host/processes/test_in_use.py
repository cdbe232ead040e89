"""Who has a file mapped or open."""

from __future__ import annotations

import mmap
import os
from pathlib import Path

import pytest

from orchestrator.on_host.processes import in_use

MAPS = b"""\
55d0c0400000-55d0c0401000 r--p 00000000 fe:00 9181 /usr/bin/python3.11
7f1200000000-7f1210000000 rw-s 00000000 00:1a 77 /dev/shm/psm_033ef828
7f1220000000-7f1230000000 rw-s 00000000 00:1a 78 /dev/shm/name with blanks (deleted)
7f1240000000-7f1250000000 rw-p 00000000 00:00 0
7ffc3a000000-7ffc3a021000 rw-p 00000000 00:00 0 [stack]
"""


def test_mapped_files() -> None:
    assert in_use.mapped_files(MAPS) == {
        (os.makedev(0xFE, 0), 9181),
        (os.makedev(0, 0x1A), 77),
        (os.makedev(0, 0x1A), 78),
    }
    assert in_use.mapped_files(b"") == set()


def test_of_each_process_those_lines_are_read_that_name_a_device_of_what_is_looked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    files = {
        (os.makedev(0, 0x1A), 77): "a",
        (os.makedev(0xFE, 0), 9181): "b",
        (os.makedev(0, 0x1A), 9181): "not there",
    }
    monkeypatch.setattr(in_use.procs, "read_bytes", lambda path: MAPS)
    monkeypatch.setattr(in_use, "_FEW", 0)
    assert in_use.users(files, [2**22 + 1]) == {file: [2**22 + 1] for file in list(files)[:2]}
    assert in_use.users({(os.makedev(0, 0x1B), 77): "elsewhere"}, [2**22 + 1]) == {}


def file_of(path: Path) -> in_use.File:
    status = path.lstat()
    return (status.st_dev, status.st_ino)


@pytest.mark.parametrize("few", [50, 0])
def test_a_file_is_used_by_whoever_has_it_mapped_or_open(
    tmp_path: Path, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(in_use, "_FEW", few)
    names = {}
    for name in ("mapped", "open", "idle"):
        (tmp_path / name).write_bytes(b"x" * 4096)
        names[file_of(tmp_path / name)] = name
    with (tmp_path / "mapped").open("r+b") as file:
        mapped = mmap.mmap(file.fileno(), 4096)
    with mapped, (tmp_path / "open").open("rb"):
        used = in_use.users(names, [os.getpid()])
    assert {names[file]: pids for file, pids in used.items()} == {
        "mapped": [os.getpid()],
        "open": [os.getpid()],
    }


def test_a_folder_is_used_by_whoever_works_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = {file_of(tmp_path): tmp_path.name}
    assert in_use.users(names, [os.getpid()]) == {}
    monkeypatch.chdir(tmp_path)
    assert in_use.users(names, [os.getpid()]) == {file_of(tmp_path): [os.getpid()]}


def test_what_is_mapped_under_a_path_counts_whatever_its_device_seems_to_be(tmp_path: Path) -> None:
    """btrfs and overlayfs show one device in maps and another in a file's status."""
    (tmp_path / "kernel.so").write_bytes(b"x" * 4096)
    names = {(1, 2): "kernel.so"}
    with (tmp_path / "kernel.so").open("r+b") as file, mmap.mmap(file.fileno(), 4096):
        assert in_use.users(names, [os.getpid()]) == {}
        assert in_use.users(names, [os.getpid()], below=str(tmp_path)) == {(1, 2): [os.getpid()]}


def test_processes_that_are_gone_use_nothing() -> None:
    assert in_use.users({(1, 2): "x"}, [2**22 + 1]) == {}
    assert os.getpid() in in_use.everybody()
