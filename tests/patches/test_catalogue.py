"""Which patches there are: of which folder, by which name, and what is said of files that hold none."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.base.errors import UsageError
from orchestrator.patches import catalogue

GOOD = """\
id: mine
title: A failure of mine
category: other
match: [{exception: MyError}]
"""


def test_a_good_patch_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(GOOD)
    (patch,) = catalogue.load([tmp_path, tmp_path / "missing"])
    assert patch.match[0].exception == "MyError"


def test_the_earlier_folder_wins(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "mine.yaml").write_text(GOOD.replace("of mine", f"of {name}"))
    assert [patch.title for patch in catalogue.load([tmp_path / "one", tmp_path / "two"])] == [
        "A failure of one"
    ]


def test_an_id_that_a_folder_holds_twice_is_refused(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "mine.yaml").write_text(GOOD)
    with pytest.raises(UsageError) as refusal:
        catalogue.load([tmp_path])
    first, second = tmp_path / "one" / "mine.yaml", tmp_path / "two" / "mine.yaml"
    assert f"{second}:1: id: is that of {first} too; allowed: one file" in refusal.value.message
    assert refusal.value.next_command == f"diff -- {first} {second}"


def test_the_users_own_folder_is_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "deploy" / "patches"
    folder.mkdir(parents=True)
    (folder / "mine.yaml").write_text(GOOD)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert {"mine", "fp8-kv-mla"} <= {patch.id for patch in catalogue.load_all()}


def test_patches_are_in_the_order_of_their_ids_wherever_they_lie(tmp_path: Path) -> None:
    for name in ("z/a", "b", "a/c"):
        path = tmp_path / f"{name}.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(GOOD.replace("mine", path.stem))
    assert [patch.id for patch in catalogue.load([tmp_path])] == ["a", "b", "c"]


def test_what_is_wrong_with_one_file_takes_no_other_away(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(GOOD)
    (tmp_path / "broken.yaml").write_text(GOOD.replace("category: other", "category: none"))
    (tmp_path / "it's.yaml").write_text(GOOD.replace("id: mine", "id: its"))
    for _ in ("read", "kept"):
        patches, broken = catalogue.survey([tmp_path])
        assert [patch.id for patch in patches] == ["mine"]
        assert [path.name for path in broken] == ["broken.yaml", "it's.yaml"]
    wrong_name = broken[tmp_path / "it's.yaml"]
    assert wrong_name.message.endswith("it's.yaml:1: id: is its; allowed: it's, the name of the file")
    assert wrong_name.next_command == f"""mv -- '{tmp_path}/it'"'"'s.yaml' {tmp_path}/its.yaml"""
    with pytest.raises(UsageError, match="category: 'none' is not one of the known values"):
        catalogue.load([tmp_path])


def test_one_that_was_kept_is_read_again_once_its_file_is_another(tmp_path: Path) -> None:
    for title in ("of mine", "of yours"):
        (tmp_path / "mine.yaml").write_text(GOOD.replace("of mine", title))
        assert [patch.title for patch in catalogue.load([tmp_path])] == [f"A failure {title}"]
