"""Which Python of a checkpoint would run, and which lies elsewhere."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from orchestrator.on_host.checkpoint import code_files


def test_every_file_that_an_import_reaches(tmp_path: Path) -> None:
    for name in (
        "modeling.py",
        "parts/__init__.py",
        "parts/deep/one.py",
        ".cache/two.py",
        "some-more/three.py",
        "notes.txt",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    (tmp_path / "linked.py").symlink_to("notes.txt")
    (tmp_path / "parts" / "loop").symlink_to(tmp_path)
    described = code_files.describe(str(tmp_path))
    reached = ["linked.py", "modeling.py", "parts/__init__.py", "parts/deep/one.py", "some-more/three.py"]
    assert sorted(described["files"]) == reached
    assert described["whole"]
    before = described["files"]["modeling.py"]
    (tmp_path / "modeling.py").write_text("other")
    assert code_files.describe(str(tmp_path))["files"]["modeling.py"] != before


def test_code_of_another_repository(tmp_path: Path) -> None:
    config = {"auto_map": {"AutoModel": "org/other--modeling.Model", "AutoConfig": "configuration.Config"}}
    (tmp_path / "config.json").write_text(json.dumps({"text_config": config}))
    (tmp_path / "tokenizer_config.json").write_text(
        json.dumps({"auto_map": {"AutoTokenizer": ["third/one--t.T", None], "AutoProcessor": "/tmp/p.P"}})
    )
    (tmp_path / "generation_config.json").write_text("{")
    assert code_files.describe(str(tmp_path))["elsewhere"] == ["/tmp/p.P", "org/other", "third/one"]


@pytest.mark.parametrize("name", ["modeling.py", "config.json"])
def test_what_cannot_be_read_is_not_known(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    assert not code_files.describe(str(tmp_path))["whole"]


def test_more_than_can_be_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "modeling.py").write_text("x" * 100)
    monkeypatch.setattr(code_files, "MOST_BYTES", 99)
    assert code_files.describe(str(tmp_path)) == {"files": {}, "elsewhere": [], "whole": False}
    monkeypatch.setattr(code_files, "MOST_BYTES", 100)
    assert code_files.describe(str(tmp_path))["whole"]
    monkeypatch.setattr(code_files, "MOST_ENTRIES", 0)
    assert not code_files.describe(str(tmp_path))["whole"]
