"""How much room there is for a checkpoint."""

from __future__ import annotations

import os
import subprocess
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from orchestrator.facts import disk
from orchestrator.facts.source import Output, Unknown
from tests.facts.cases_of import cases


@pytest.mark.parametrize(("output", "expected"), cases("disk"))
def test_cases(output: Output, expected: dict[str, Any]) -> None:
    read = disk.parse(output)
    if "unknown" in expected:
        assert isinstance(read, Unknown)
        assert read.code == expected["unknown"]
    else:
        assert isinstance(read, disk.Disk)
        assert asdict(read) == {"untold": "", **expected}


def ask(folder: Path | str) -> disk.Disk | Unknown:
    done = subprocess.run(disk.command(str(folder)).argv, capture_output=True, text=True, check=False)
    return disk.parse(Output(done.returncode, done.stdout, done.stderr))


def test_a_folder_that_is_not_there_yet(tmp_path: Path) -> None:
    read = ask(tmp_path / "models" / "-odd name; $(touch pwned)")
    assert isinstance(read, disk.Disk)
    assert (read.exists, read.parent, read.writable, read.owner_uid) == (
        False,
        str(tmp_path),
        True,
        os.getuid(),
    )
    usage = os.statvfs(tmp_path)
    assert read.size_bytes == pytest.approx(usage.f_blocks * usage.f_frsize, rel=0.1)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_behind_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    read = ask(tmp_path / "link")
    assert isinstance(read, disk.Disk)
    assert read.exists


def test_a_file_in_its_place(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    read = ask(tmp_path / "file" / "models")
    assert isinstance(read, Unknown)
    assert (read.code, str(tmp_path / "file") in read.reason) == ("not_a_folder", True)
