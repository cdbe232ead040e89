"""A patch may take the config edits of another one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from orchestrator.base.errors import UsageError
from orchestrator.patches import catalogue
from orchestrator.patches.known import Known
from orchestrator.patches.propose import ways

EDIT = {"kind": "config", "file": "config.json", "path": "/odd", "op": "remove"}


def write(folder: Path, name: str, *actions: dict[str, Any]) -> None:
    matches = [{"exception": "MyError", "text": name}]
    patch = {"id": name, "title": name, "category": "other", "match": matches, "remedy": list(actions)}
    (folder / f"{name}.yaml").write_text(json.dumps(patch))


def test_the_edits_of_another_patch(tmp_path: Path) -> None:
    write(tmp_path, "has", EDIT)
    write(tmp_path, "takes", {"kind": "config", "of": "has", "unless": {"arguments": {"x": "*"}}})
    for _ in ("read", "kept"):
        takes = next(patch for patch in catalogue.load([tmp_path]) if patch.id == "takes")
        (way,) = ways(takes, Known(documents={"config.json": {"odd": 1}}))
        assert [action.path for action in way.actions] == ["/odd"]
        assert ways(takes, Known(arguments={"x": "1"})) == ()


@pytest.mark.parametrize("name", ["nobody", "takes", "none"])
def test_of_a_patch_that_has_none(tmp_path: Path, name: str) -> None:
    write(tmp_path, "none", {"kind": "cleanup", "name": "shm"})
    write(tmp_path, "takes", {"kind": "config", "of": name})
    with pytest.raises(
        UsageError, match=rf"takes\.yaml:1: remedy: {name} is no patch with config edits"
    ) as wrong:
        catalogue.load([tmp_path])
    assert wrong.value.code == "invalid_patch"
