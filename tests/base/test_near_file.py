"""Which file has nearly the name that was typed."""

from __future__ import annotations

from pathlib import Path

from orchestrator.base.near_file import near_file


def test_a_file_of_nearly_this_name_is_found_where_it_was_looked_for(tmp_path: Path) -> None:
    (tmp_path / "vllm.log").touch()
    (tmp_path / "vlm.log.d").mkdir()
    assert near_file(tmp_path / "vlm.log") == str(tmp_path / "vllm.log")
    assert near_file(tmp_path / "something.yaml") is None
    assert near_file(tmp_path / "nowhere" / "vllm.log") is None
