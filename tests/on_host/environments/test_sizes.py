"""How much of the disk a folder takes."""

from __future__ import annotations

import math
import os
from pathlib import Path

from orchestrator.on_host.environments import sizes


def test_a_file_counts_once_however_many_names_it_has(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "large").write_bytes(os.urandom(1 << 20))
    os.link(tmp_path / "in" / "large", tmp_path / "again")
    (tmp_path / "link").symlink_to("/usr")
    taken = sizes.taken(tmp_path, until=math.inf)
    assert taken is not None
    assert 1 << 20 <= taken < 3 << 19


def test_what_takes_too_long_is_not_known(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert sizes.taken(tmp_path, until=0.0) is None
    assert sizes.taken(tmp_path / "missing", until=math.inf) is None


def test_what_is_free_is_known_before_the_folder_is_there(tmp_path: Path) -> None:
    assert sizes.free(tmp_path / "not" / "yet") > 0
