"""Which machine it is, and what logind would do to a launch."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from orchestrator.facts import machine
from orchestrator.facts.source import Output, Unknown
from tests.facts.cases_of import cases


@pytest.mark.parametrize(("output", "expected"), cases("machine"))
def test_cases(output: Output, expected: dict[str, Any]) -> None:
    read = machine.parse(output)
    if "unknown" in expected:
        assert isinstance(read, Unknown)
        assert read.code == expected["unknown"]
        return
    assert isinstance(read, machine.Machine)
    for name, wanted in expected.items():
        value = getattr(read, name)
        assert (list(value) if isinstance(value, tuple) else value) == wanted, name


def test_the_command_tells_this_machine_and_no_secret(tmp_path: Path) -> None:
    env = {**os.environ, "HOME": str(tmp_path), "HF_TOKEN": "hf_secret", "HF_HUB_OFFLINE": "", "LC_ALL": "C"}
    done = subprocess.run(machine.COMMAND.argv, capture_output=True, text=True, env=env, check=True)
    assert "hf_secret" not in done.stdout + done.stderr
    read = machine.parse(Output(done.returncode, done.stdout, done.stderr))
    assert isinstance(read, machine.Machine)
    assert read.hostname == os.uname().nodename
    assert (read.uid, read.home) == (os.getuid(), str(tmp_path))
    assert "HF_TOKEN" in read.hf_names
    assert "HF_HUB_OFFLINE" not in read.hf_names  # set to nothing is not set
    assert read.memory_bytes
    assert read.memory_bytes > 1 << 28


@pytest.mark.parametrize("missing", ["uname", "id", "lscpu", "cat", "env", "df", "awk", "getent", "getconf"])
def test_a_program_that_is_not_there_takes_no_other_line(missing: str, tmp_path: Path) -> None:
    """Each of them alone, as on small images."""
    for name in TOOLS:
        tool = shutil.which(name)
        if tool is not None and name != missing:
            (tmp_path / name).symlink_to(tool)
    env = {"PATH": str(tmp_path), "HOME": "/home/ml", "HF_ENDPOINT": "https://mirror.example"}
    done = subprocess.run(machine.COMMAND.argv, capture_output=True, text=True, env=env, check=False)
    read = machine.parse(Output(done.returncode, done.stdout, done.stderr))
    assert isinstance(read, machine.Machine)
    assert (read.home, read.hf_endpoint) == ("/home/ml", "https://mirror.example")
    assert read.cpus == os.cpu_count()
    assert read.memory_bytes


TOOLS = (
    "uname", "id", "cat", "env", "sed", "getconf", "nproc", "grep", "lscpu", "sort", "df", "awk", "getent", "cut", "timeout",
)  # fmt: skip
