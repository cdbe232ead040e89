"""Somebody takes memory of the cards between the plan and the start: waited for, told, or launched beside."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.rehearsal import Box
from orchestrator.rehearsal.pytest_plugin import StartBox, rehearsal_host

__all__ = ["rehearsal_host"]

pytestmark = pytest.mark.thorough
MIB = 16_000
PYTHON = Path(sys.executable).name


@pytest.fixture
def other() -> Iterator[subprocess.Popen[bytes]]:
    """Somebody else's process."""
    argv = [sys.executable, "-I", "-S", "-c", "import time; time.sleep(1e6)"]
    process = subprocess.Popen(argv, start_new_session=True)
    yield process
    process.kill()
    process.wait()


def comes_late(box: Box, pid: int, *, then: str = "", listed: bool = True) -> None:
    """Once facts were read and the memory alone is asked for, that process holds some of each card; `then` is done, too."""
    tools = box.stand_in.folder / "tools"
    (tools / "nvidia-smi").rename(tools / "nvidia-smi.before")
    cards, came = shlex.quote(str(box.cards)), shlex.quote(str(box.folder / "came"))
    hidden = "" if listed else "*query-compute-apps*) exit 0 ;;"
    script = f"""#!/bin/sh
case "$*" in
  {hidden}
  *uuid,memory.used*) [ -e {came} ] || {{
    touch {came}
    for card in 0 1 2 3 4 5 6 7; do echo '{pid} {MIB} {PYTHON}' >{cards}/$card-other; done
    {then or ":"}
  }} ;;
esac
exec {shlex.quote(str(tools / "nvidia-smi.before"))} "$@"
"""
    (tools / "nvidia-smi").write_text(script)
    (tools / "nvidia-smi").chmod(0o755)


def up(box: Box, *options: str) -> tuple[int, str, list[Any]]:
    """Exit code, everything told, and the command of the last launch."""
    done = box.deploy("up", "--yes", "--json", *options)
    launches = sorted(box.state.glob("launches/*/command.json"))
    return done.returncode, done.stdout, json.loads(launches[-1].read_text())["argv"] if launches else []


@pytest.mark.parametrize(
    ("listed", "words"),
    [
        (True, "user {user}) holds 128,000 MiB on 8 GPUs"),
        (False, "16,002 MiB are held by what cannot be seen from here"),
    ],
)
def test_who_keeps_it_is_told_and_no_launch_spent(
    rehearsal_host: StartBox, other: subprocess.Popen[bytes], listed: bool, words: str
) -> None:
    box = rehearsal_host("kimi-k2.5")
    comes_late(box, other.pid, listed=listed)
    code, told, command = up(box)
    assert (code, command) == (4, [])
    assert '"gpu_busy"' in told and words.format(user=Path(f"/proc/{other.pid}").owner()) in told
    assert other.poll() is None


def test_who_ends_within_seconds_is_waited_for(
    rehearsal_host: StartBox, other: subprocess.Popen[bytes]
) -> None:
    box = rehearsal_host("kimi-k2.5")
    comes_late(box, other.pid, then=f"( sleep 2; kill {other.pid} ) >/dev/null 2>&1 &")
    code, told, command = up(box)
    assert code == 0, told
    assert "gpu-memory-utilization" not in " ".join(command)


def test_with_the_consent_it_is_launched_beside_them(
    rehearsal_host: StartBox, other: subprocess.Popen[bytes]
) -> None:
    box = rehearsal_host("kimi-k2.5")
    comes_late(box, other.pid)
    code, told, command = up(box, "--consent", "share-cards")
    assert code == 0, told
    assert command[command.index("--gpu-memory-utilization") + 1] == "0.81"
    assert other.poll() is None
