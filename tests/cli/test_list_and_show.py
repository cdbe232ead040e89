"""deploy list and deploy show."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from orchestrator.cli.main import run
from orchestrator.data_folders import shipped

BASE = Path(__file__).parents[1] / "playbooks" / "base.yaml"


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "a-name-that-is-longer-than-its-column.yaml").write_text(
        "description: long\n" + BASE.read_text()
    )
    (folder / "broken.yaml").write_text("model: {}\n")
    return folder


def test_list_playbooks(mine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["list", "playbooks", "--playbooks", str(mine)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("kimi-k2.5  ") for line in lines)
    assert "a-name-that-is-longer-than-its-column" in lines
    assert any(line.startswith("broken  ") and "broken: " in line for line in lines)
    assert max(len(line) for line in lines if str(mine) not in line) <= 80


def test_list_playbooks_for_a_program(mine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["list", "playbooks", "--json", "--playbooks", str(mine)]) == 0
    rows = {row["playbook"]: row for row in map(json.loads, capsys.readouterr().out.splitlines())}
    assert rows["kimi-k2.5"]["repository"] == "nvidia/Kimi-K2.5-NVFP4"
    assert rows["kimi-k2.5"]["gpus"] == 8
    assert "model.repository: is missing" in rows["broken"]["error"]


def test_list_patches(mine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["list", "patches", "--json"]) == 0
    rows = {row["patch"]: row for row in map(json.loads, capsys.readouterr().out.splitlines())}
    assert rows["fp8-kv-mla"]["category"] == "attention_backend"
    assert mine.exists()


def test_show_prints_the_file(mine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", "kimi-k2.5"]) == 0
    assert capsys.readouterr().out == (shipped("playbooks") / "kimi-k2.5.yaml").read_text()
    assert run(["show", "fp8-kv-mla", "--patches", str(mine)]) == 0
    assert capsys.readouterr().out == (shipped("patches") / "fp8-kv-mla.yaml").read_text()


def test_show_for_a_program(mine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", "tiny-mla", "--json", "--playbooks", str(mine)]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["kind"], shown["port"], shown["needs"]["gpus"]) == ("playbook", 8000, 0)
    assert run(["show", "fp8-kv-mla", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["kind"], shown["id"]) == ("patch", "fp8-kv-mla")


@pytest.mark.parametrize("name", ["kimi", "../patches/fp8-kv-mla", "broken"])
def test_show_says_what_it_cannot_find(
    mine: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(mine)
    assert run(["show", name, "--playbooks", str(mine)]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("deploy: ")
