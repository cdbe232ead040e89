"""Every verb's help: at most 80 columns, with an example, and quickly there."""

from __future__ import annotations

import subprocess
import sys

import pytest

from orchestrator.cli.main import COMMANDS, run


@pytest.mark.parametrize(
    "words", [[], *([verb] for verb in COMMANDS)], ids=lambda words: "".join(words) or "deploy"
)
def test_it_reads_well_and_has_an_example(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*words, "--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(len(line) for line in lines) <= 80
    text = "\n".join(lines)
    assert text.count("Example") >= 1
    assert f"deploy {' '.join(words)}".rstrip() in text.split("Example")[1] or words == ["up"]


@pytest.mark.parametrize("words", [["--help"], ["plan", "--help"], ["list", "playbooks", "--help"]])
def test_it_imports_nothing_that_is_slow(words: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "orchestrator.cli.main", *words],
        capture_output=True,
        text=True,
        check=True,
    )
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert not imported & {"rich", "pydantic", "paramiko", "fabric", "huggingface_hub", "ruamel", "yaml"}
