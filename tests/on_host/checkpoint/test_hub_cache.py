"""Which blob of a Hub cache lies behind a link."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from orchestrator.on_host.checkpoint import hub_cache

HUB = "/home/me/.cache/huggingface/hub"
SNAPSHOT = f"{HUB}/models--org--name/snapshots/abc"


@pytest.mark.parametrize(
    ("link", "target", "below"),
    [
        (f"{SNAPSHOT}/a", "../../blobs/0f", "blobs/0f"),
        (f"{SNAPSHOT}/sub/a", "../../../blobs/0f", "blobs/0f"),
        (f"{SNAPSHOT}/a", f"{HUB}/models--org--name/blobs/0f", "blobs/0f"),
        (f"{SNAPSHOT}/a", "../../blobs/0f.incomplete", None),
        (f"{SNAPSHOT}/a", "../../blobs/sub/0f", None),
        (f"{SNAPSHOT}/a", "../../../models--org--other/blobs/0f", None),
        (f"{SNAPSHOT}/a", "../../../../../../precious", None),
        (f"{SNAPSHOT}/a", "/etc/passwd", None),
        (f"{SNAPSHOT}/a", "b", None),
        ("/data/model/a", f"{HUB}/models--org--name/blobs/0f", None),
        ("/data/snapshots/abc/a", "../../blobs/0f", None),
        (f"{HUB}/models--org--name/snapshots/a", "../blobs/0f", None),
        (f"{HUB}/datasets--org--name/snapshots/abc/a", "../../blobs/0f", None),
    ],
)
def test_behind(link: str, target: str, below: str | None) -> None:
    blob = hub_cache.behind(link, target)
    assert (blob.below if blob else None) == below
    assert blob is None or blob.repository == f"{HUB}/models--org--name"


def test_names_that_lead_to_a_blob(tmp_path: Path) -> None:
    blob = hub_cache.Blob(str(tmp_path), "blobs/0f")
    assert hub_cache.leading_to(blob) == []
    (tmp_path / "blobs").mkdir()
    Path(blob.path).touch()
    for name in ("linked", "hard", "other", "dangling"):
        (tmp_path / "snapshots" / name / "sub").mkdir(parents=True)
    linked, hard, other, dangling = (
        tmp_path / "snapshots" / name / "sub" / "a" for name in ("linked", "hard", "other", "dangling")
    )
    linked.symlink_to("../../../blobs/0f")
    other.touch()
    dangling.symlink_to("nowhere")
    assert hub_cache.leading_to(blob) == [str(linked)]
    os.link(blob.path, hard)
    assert hub_cache.leading_to(blob) == [str(hard), str(linked)]
    linked.unlink()
    hard.rename(tmp_path / "saved")
    assert hub_cache.leading_to(blob) == ["a hard link"]


@pytest.mark.parametrize(
    ("name", "sha256", "may"),
    [("a" * 64, "a" * 64, True), ("b" * 64, "a" * 64, False), ("0f-1", "a" * 64, True)],
)
def test_a_name_that_is_another_hash(name: str, sha256: str, may: bool) -> None:
    assert hub_cache.Blob("/x", f"blobs/{name}").may_be(sha256) is may
