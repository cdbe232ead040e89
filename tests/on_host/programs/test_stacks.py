"""Stacks that processes of a launch have left in its folder."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from orchestrator.on_host.programs import stacks
from orchestrator.on_host.refusal import Refusal
from tests.on_host.conftest import Deployments, stand_in

ASKED = {"instance": "tiny", "launch": 1, "names": "STACK_*.log"}


def test_the_last_words_of_the_files_that_are_called_so(deployments: Deployments, tmp_path: Path) -> None:
    folder = deployments.launch(stand_in(exit=0)).folder
    assert stacks.main(ASKED) == {"files": []}
    (folder / "STACK_b.log").write_bytes(b"x" * (256 << 10) + b"the end \xff")
    (folder / "STACK_a.log").write_text("a")
    ago = time.time() - 1000
    os.utime(folder / "STACK_a.log", (ago, ago))
    (tmp_path / "secret").write_text("not ours")
    (folder / "STACK_c.log").symlink_to(tmp_path / "secret")
    (folder / "STACK_d.log").mkdir()
    os.mkfifo(folder / "STACK_e.log")
    first, second = stacks.main(ASKED)["files"]
    assert (first["name"], first["text"], round(first["age_seconds"], -1)) == ("STACK_a.log", "a", 1000)
    assert (second["name"], len(second["text"].encode()) <= (256 << 10) + 2) == ("STACK_b.log", True)
    assert second["text"].endswith("the end \N{REPLACEMENT CHARACTER}")


def test_a_launch_that_never_was(deployments: Deployments) -> None:
    with pytest.raises(Refusal):
        stacks.main({**ASKED, "launch": 7})
