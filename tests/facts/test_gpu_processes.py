"""Which processes hold GPU memory."""

from __future__ import annotations

import os
import pwd
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from orchestrator.facts import gpu_processes
from orchestrator.facts.source import Output, Unknown
from tests.facts.cases_of import cases


@pytest.mark.parametrize(("output", "expected"), cases("gpu_processes"))
def test_cases(output: Output, expected: dict[str, Any]) -> None:
    read = gpu_processes.parse(output)
    if "unknown" in expected:
        assert isinstance(read, Unknown)
        assert read.code == expected["unknown"]
    else:
        assert not isinstance(read, Unknown)
        unowned = {"user": None, "command": None, "container": None}
        assert [asdict(process) for process in read] == [
            {**unowned, **process} for process in expected["processes"]
        ]


@pytest.fixture
def running() -> Iterator[subprocess.Popen[bytes]]:
    """A process of this Python's: a test's own may be given another title."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process
        process.communicate(b"\n")


def test_the_command_says_whose_a_process_is(tmp_path: Path, running: subprocess.Popen[bytes]) -> None:
    own = Path(sys.executable).name
    program = tmp_path / "nvidia-smi"
    rows = f"GPU-1, {running.pid}, /x/{own}, 40000\\nGPU-2, 4194399, gone, 1\\n"
    program.write_text(f"#!/bin/sh\nprintf '{rows}'\n")
    program.chmod(0o755)
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(gpu_processes.COMMAND.argv, capture_output=True, text=True, env=env, check=True)
    read = gpu_processes.parse(Output(done.returncode, done.stdout, done.stderr))
    assert not isinstance(read, Unknown)
    ours, gone = read
    assert ours.user == pwd.getpwuid(os.getuid()).pw_name
    assert ours.command is not None and own in ours.command
    assert (gone.pid, gone.user, gone.command) == (4194399, None, None)
