"""Every verb's help: at most 80 columns, with an example, and quickly there."""

from __future__ import annotations

import json

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
    assert not [line for line in lines if line.endswith("...")]  # what a verb does is not cut off
    text = "\n".join(lines)
    assert text.count("Example") >= 1
    assert f"deploy {' '.join(words)}".rstrip() in text.split("Example")[1] or words == ["up"]


@pytest.mark.parametrize("words", [["--help"], ["plan", "--help"], ["list", "playbooks", "--help"]])
def test_it_imports_nothing_that_is_slow(words: list[str]) -> None:
    slow = {"rich", "pydantic", "paramiko", "fabric", "huggingface_hub", "ruamel", "yaml"}
    assert not imported(words) & slow


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("shwo fp8-kv-mla", "deploy show fp8-kv-mla"),
        ("staus mine --host box", "deploy status mine --host box"),
        ("diagnos x.log", "deploy diagnose x.log"),
        ("kimi-k2.5", ""),
        ("plan", ""),
    ],
)
def test_a_verb_that_is_nearly_typed_is_offered(
    typed: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(typed.split()) == 2
    assert capsys.readouterr().err.partition("Did you mean: ")[2].strip() == meant


def test_a_wrong_command_line_is_told_to_programs_too(capsys: pytest.CaptureFixture[str]) -> None:
    for typed, onward in (
        ("plan kimi-k2.5 --bogus", "deploy plan --help"),
        ("staus mine --host box", "deploy status mine --host box --json"),
    ):
        assert run([*typed.split(), "--json"]) == 2
        (told,) = capsys.readouterr().out.splitlines()
        error = json.loads(told)["error"]
        assert (error["code"], error["next"]) == ("usage", onward)


def test_help_and_version_are_words_too(capsys: pytest.CaptureFixture[str]) -> None:
    for words, option in (
        (["help"], ["--help"]),
        (["help", "plan"], ["plan", "--help"]),
        (["version"], ["--version"]),
    ):
        assert run(words) == run(option) == 0
        said = capsys.readouterr().out
        assert said[: len(said) // 2] == said[len(said) // 2 :]
