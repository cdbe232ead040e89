"""A catalogue that was read once is recalled as long as no byte of it changed."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from orchestrator.base.data_folders import shipped
from orchestrator.base.errors import UsageError
from orchestrator.patches import catalogue, kept
from orchestrator.patches.patch import Patch

MINE = """\
id: mine
title: A failure of mine
category: other
match: [{exception: MyError, line: 'never mind the word'}]
remedy: [{do: [{kind: flag, name: --max-model-len, op: set, formula: "floor(a, 16)"}]}]
"""


class Forgetful(dict[str, Any]):
    """As if every command were a process of its own."""

    def __bool__(self) -> bool:
        return False


@pytest.fixture(autouse=True)
def cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(kept, "_here", Forgetful())
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "compiled"))
    monkeypatch.setattr(kept, "_came_with_the_program", cache(kept._came_with_the_program.__wrapped__))
    return tmp_path / "cache" / "deploy" / "patches"


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of patches of a checkout that has one."""
    folder = tmp_path / "checkout" / "patches"
    folder.mkdir(parents=True)
    (folder / "mine.yaml").write_text(MINE)
    monkeypatch.setattr(kept, "shipped", lambda kind: folder)
    return folder


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that were read as patches."""
    paths: list[Path] = []
    load = catalogue.load_model

    def noted(path: Path, *args: object, **more: object) -> object:
        paths.append(path)
        return load(path, *args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(catalogue, "load_model", noted)
    return paths


def test_it_is_recalled_as_it_was_and_a_new_file_alone_is_read(tmp_path: Path, read: list[Path]) -> None:
    folders = [tmp_path, shipped("patches") / "nccl"]
    first = catalogue.load(folders)
    count = len(read)
    assert count == len(first) > 1
    assert catalogue.load(folders) == first
    assert len(read) == count
    (tmp_path / "mine.yaml").write_text(MINE)
    assert len(catalogue.load(folders)) == count + 1
    assert [path.name for path in read[count:]] == ["mine.yaml"]


def test_any_change_is_seen(tmp_path: Path, read: list[Path]) -> None:
    (tmp_path / "mine.yaml").write_text(MINE)
    catalogue.load([tmp_path])
    (tmp_path / "mine.yaml").write_text(MINE.replace("of mine", "of yours"))
    assert [patch.title for patch in catalogue.load([tmp_path])] == ["A failure of yours"]
    (tmp_path / "mine.yaml").write_text(MINE.replace("title:", "titel:"))
    with pytest.raises(UsageError):
        catalogue.load([tmp_path])


def test_what_reads_a_patch_is_part_of_what_it_is_known_by() -> None:
    """Or what another version of it kept would be believed."""
    program = "import sys, orchestrator.patches.patch; print(*sys.modules, sep='\\n')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    room = [name for name in done.stdout.split() if name.startswith("orchestrator.patches.")]
    assert room
    assert {f"{name.removeprefix('orchestrator.').replace('.', '/')}.py" for name in room} <= set(
        kept._JUDGES
    )


def test_a_damaged_or_unwritable_cache_costs_time_alone(
    tmp_path: Path, cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.yaml").write_text(MINE)
    whole = catalogue.load([tmp_path])
    (file,) = cache_folder.glob("*.json")
    file.write_bytes(file.read_bytes()[:40])
    assert catalogue.load([tmp_path]) == whole
    (tmp_path / "taken").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "taken"))
    assert catalogue.load([tmp_path]) == whole


def test_a_wheel_holds_what_the_files_hold(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(MINE)
    name, content = kept.compiled(tmp_path)
    (tmp_path / name).write_bytes(content)
    assert tuple(kept._read(tmp_path / name).values()) == catalogue.load([tmp_path])
    (tmp_path / "mine.yaml").write_text(MINE.replace("title:", "titel:"))
    with pytest.raises(UsageError):
        kept.compiled(tmp_path)


def test_what_came_with_the_program_is_not_kept_again(
    tmp_path: Path, cache_folder: Path, read: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    came = {path: tmp_path / path for path in ("shipped.yaml", "mine.yaml")}
    for path in came.values():
        path.write_text(MINE.replace("id: mine", f"id: {path.stem}"))
    patch = catalogue.load_model(came["shipped.yaml"], Patch, code="x")
    monkeypatch.setattr(kept, "_came_with_the_program", lambda: {kept.seal(came["shipped.yaml"]): patch})
    read.clear()
    catalogue.load([tmp_path])
    assert [path.name for path in read] == ["mine.yaml"]
    (file,) = cache_folder.glob("*.json")
    assert [one.id for one in kept._read(file).values()] == ["mine"]
    catalogue.load([tmp_path])
    assert len(read) == 1


def test_a_checkout_keeps_its_own_for_every_home(
    tmp_path: Path, cache_folder: Path, checkout: Path, read: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the first home that asks had read them before, from somewhere else."""
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(kept, "shipped", lambda kind: tmp_path)
        first = catalogue.load([checkout])
    assert cache_folder.exists()
    assert catalogue.load([checkout]) == first
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "another"))
    assert catalogue.load([checkout]) == first
    assert len(read) == 1
    (checkout / "mine.yaml").write_text(MINE.replace("of mine", "of yours"))
    assert [patch.title for patch in catalogue.load([checkout])] == ["A failure of yours"]
    assert len(read) == 2
    assert not (tmp_path / "another").exists()


def test_a_checkout_that_nobody_may_write_in_leaves_it_to_the_home(
    cache_folder: Path, checkout: Path, read: list[Path]
) -> None:
    place = kept._beside().parent
    place.parent.mkdir(parents=True)
    place.write_text("")
    assert catalogue.load([checkout]) == catalogue.load([checkout])
    assert len(read) == 1
    assert len(list(cache_folder.iterdir())) == 1


def test_what_was_not_used_for_long_is_forgotten(
    tmp_path: Path, cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "_FILES", 3)
    cache_folder.mkdir(parents=True)
    beside, forgotten = (cache_folder / f"{name}.json" for name in ("beside", "forgotten"))
    for other in (beside, forgotten):
        other.write_text("{}")
    os.utime(forgotten, (0, 0))
    for number in range(6):
        (tmp_path / "mine.yaml").write_text(MINE.replace("of mine", f"nr {number}"))
        catalogue.load([tmp_path])
        kept._here.clear()
    assert len(kept.recall()) == 3
    assert len(list(cache_folder.iterdir())) == 2
    assert beside.exists()  # two releases that one person uses do not cost each other their memory


def test_what_others_may_write_is_not_believed(tmp_path: Path, read: list[Path], cache_folder: Path) -> None:
    """A planted record would be a patch that no file holds."""
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "mine.yaml").write_text(MINE)
    catalogue.load([folder])
    catalogue.load([folder])
    assert len(read) == 1
    kept._here.clear()
    cache_folder.chmod(0o777)
    catalogue.load([folder])
    assert len(read) == 2
