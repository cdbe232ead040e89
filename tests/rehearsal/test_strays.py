"""What a rehearsal's engines leave running ends with it, and nothing else does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from orchestrator.rehearsal import strays
from tests.waiting import eventually, running

FAMILY = "trap '' TERM; sleep 60 & wait"


def test_all_of_one_home_are_ended_and_no_other(tmp_path: Path) -> None:
    home, other = tmp_path / "home", tmp_path / "home2"
    environments = [{**os.environ, "HOME": str(folder)} for folder in (home, other)]
    with (
        running(["sh", "-c", FAMILY], env=environments[0], start_new_session=True) as ours,
        running(["sleep", "60"], env=environments[1]) as theirs,
    ):
        eventually(lambda: len(strays.of_home(home)) == 2)
        eventually(lambda: [process.pid for process in strays.of_home(other)] == [theirs.pid])
        strays.end(home)
        assert strays.of_home(home) == []
        assert ours.wait() < 0
        assert theirs.poll() is None


def test_whoever_ends_them_is_spared(tmp_path: Path) -> None:
    program = f"import pathlib; from orchestrator.rehearsal import strays; strays.end(pathlib.Path({str(tmp_path)!r})); print('lives')"
    environment = {**os.environ, "HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert done.stdout == "lives\n", done.stderr
