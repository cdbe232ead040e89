"""Ray's folder of a launch that was killed."""

from __future__ import annotations

import tempfile
from pathlib import Path

from orchestrator.on_host.clusters import ray_node
from orchestrator.on_host.removing import ray_folder


def test_both_call_it_the_same() -> None:
    assert (ray_folder.ROOM, ray_folder.PREFIX, ray_folder.LINK) == (
        ray_node.ROOM,
        ray_node.PREFIX,
        ray_node.LINK,
    )


def test_only_what_is_ray_s_own_goes_with_the_launch(tmp_path: Path) -> None:
    link = tmp_path / ray_folder.LINK
    ray_folder.remove(tmp_path)
    with tempfile.TemporaryDirectory(prefix="other-", dir="/tmp") as other:
        link.symlink_to(other)
        ray_folder.remove(tmp_path)
        assert Path(other).is_dir()
    own = Path(tempfile.mkdtemp(prefix=ray_folder.PREFIX, dir=ray_folder.ROOM))
    (own / "session" / "logs").mkdir(parents=True)
    link.unlink()
    link.symlink_to(own)
    ray_folder.remove(tmp_path)
    assert not own.exists()
    ray_folder.remove(tmp_path)
