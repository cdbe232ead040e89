"""How a download stands, as values: each line of its progress is one of three, and another release may say more."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from orchestrator.programs.download import (
    DownloadProgress,
    DownloadStanding,
    DownloadStatus,
    Fetched,
    Manifest,
)
from orchestrator.programs.errand import FailedErrand

HALF = {"bytes": 5, "total": 10, "files_done": 1, "files": 2, "rate": 3, "eta_seconds": 2, "file": "a"}
DONE = {"done": True, "commit": "c", "files": 12, "fetched": 3, "bytes": 99, "kept": ["a.json"]}
FAILED = {"error": {"code": "hub_gated", "message": "no access"}}
HOLDER = {
    "pid": 7,
    "start_time": 1,
    "boot": "b",
    "machine": "m",
    "since": "s",
    "repository": "o/m",
    "revision": "main",
    "folder": "/m",
}


def standing(last: Any, holder: Any = None, state: str = "running") -> DownloadStanding:
    answer = {"state": state, "holder": holder, "last": last, "room": "/state/download"}
    return DownloadStatus(instance="x").read(answer)


@pytest.mark.parametrize(
    ("line", "kind"), [(HALF, DownloadProgress), (DONE, Fetched), (FAILED, FailedErrand)]
)
def test_a_line_is_one_of_three(line: dict[str, Any], kind: type) -> None:
    last = standing({**line, "of_the_future": [1]}).last
    assert type(last) is kind
    assert last.as_json() == line


def test_a_size_or_a_file_under_way_need_not_be_known() -> None:
    last = standing({**HALF, "eta_seconds": None, "file": None}).last
    assert isinstance(last, DownloadProgress)
    assert (last.eta_seconds, last.file) == (None, None)


@pytest.mark.parametrize("line", [None, {}])
def test_there_may_be_no_line_yet(line: Any) -> None:
    assert standing(line).last is None


def test_what_the_holder_noted_tells_what_it_fetches() -> None:
    holder = standing(None, HOLDER).holder
    assert holder is not None
    assert (holder.repository, holder.revision, holder.folder, holder.since) == ("o/m", "main", "/m", "s")


@pytest.mark.parametrize(
    ("last", "holder"),
    [
        ({"bytes": 5}, None),
        ({**DONE, "commit": None}, None),
        ({"error": "hub_gated"}, None),
        ([1], None),
        (None, {**HOLDER, "folder": 3}),
        (None, []),
    ],
)
def test_what_is_none_of_them_is_no_answer(last: Any, holder: Any) -> None:
    with pytest.raises(ValidationError):
        standing(last, holder)


def test_a_manifest_tells_what_was_fetched_from_where() -> None:
    file = {"size": 5, "sha256": "s", "blob": None}
    manifest = Manifest.model_validate(
        {
            "repository": "o/m",
            "revision": "main",
            "commit": "c",
            "complete": True,
            "files": {"a": file},
            "at": "t",
        }
    )
    assert (manifest.repository, manifest.commit, manifest.endpoint, manifest.complete) == (
        "o/m",
        "c",
        None,
        True,
    )
    assert manifest.files["a"].as_json() == file
    assert not Manifest.model_validate({"files": {}}).complete
