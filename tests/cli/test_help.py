"""Every verb's help: at most 80 columns, with an example, and quickly there."""

from __future__ import annotations

import pytest

from orchestrator.cli.main import COMMANDS, run
from tests.cli.imported import imported


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
    slow = {"rich", "pydantic", "paramiko", "fabric", "huggingface_hub", "ruamel", "yaml"}
    assert not imported(words) & slow
