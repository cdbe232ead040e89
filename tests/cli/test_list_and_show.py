"""deploy list and deploy show."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from orchestrator.base.data_folders import shipped
from orchestrator.cli.main import run

BASE = Path(__file__).parents[1] / "playbook" / "cases" / "base.yaml"


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
    assert (
        capsys.readouterr().out == (shipped("patches") / "attention_backend" / "fp8-kv-mla.yaml").read_text()
    )


def test_show_for_a_program(mine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", "tiny-mla", "--json", "--playbooks", str(mine)]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["kind"], shown["port"], shown["needs"]["gpus"]) == ("playbook", 8000, 0)
    assert run(["show", "fp8-kv-mla", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["kind"], shown["id"]) == ("patch", "fp8-kv-mla")


def test_a_patch_that_is_nearly_named_is_offered(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", "fp8-kv-mlaa"]) == 2
    assert "did you mean the patch fp8-kv-mla?" in " ".join(capsys.readouterr().err.split())


def test_a_patch_in_a_folder_of_ones_own_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "nccl").mkdir()
    shipped_one = shipped("patches") / "attention_backend" / "fp8-kv-mla.yaml"
    (tmp_path / "nccl" / "fp8-kv-mla.yaml").write_text("# of mine\n" + shipped_one.read_text())
    assert run(["show", "fp8-kv-mla", "--patches", str(tmp_path)]) == 0
    assert capsys.readouterr().out.startswith("# of mine\n")


@pytest.mark.parametrize("name", ["kimi", "../patches/fp8-kv-mla", "broken"])
def test_show_says_what_it_cannot_find(
    mine: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(mine)
    assert run(["show", name, "--playbooks", str(mine)]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("deploy: ")


BOMB = "a: &a [x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{below}'] * 9)}]\n"
    for below, name in zip("abcdefgh", "bcdefghi", strict=True)
)


def odd_files(folder: Path) -> dict[str, str]:
    """What nobody would put there on purpose, by name, with what is said of it."""
    os.mkfifo(folder / "pipe.yaml")
    (folder / "folder.yaml").mkdir()
    (folder / "device.yaml").symlink_to("/dev/zero")
    (folder / "dangling.yaml").symlink_to("nowhere")
    (folder / "loop.yaml").symlink_to("loop.yaml")
    (folder / "bomb.yaml").write_text(BOMB)
    (folder / "itself.yaml").write_text("&all\n<<: *all\n")
    (folder / "brackets.yaml").write_text("x: " + "[" * 5000)
    (folder / "latin.yaml").write_bytes(b"description: caf\xe9\n")
    (folder / "wide.yaml").write_bytes("description: x".encode("utf-16"))
    with (folder / "large.yaml").open("wb") as file:
        file.truncate(1 << 40)
    os.mknod(folder / "socket.yaml", stat.S_IFSOCK | 0o600)
    return {
        "pipe": "is a pipe",
        "folder": "is a folder",
        "device": "is a device",
        "dangling": "is a link to nowhere, which is missing",
        "loop": "Too many levels of symbolic links",
        "bomb": "holds more than 20,000 values",
        "itself": "stands inside of what it refers to",
        "brackets": "is nested too deep",
        "latin": "is not UTF-8 text",
        "wide": "is not UTF-8 text",
        "large": "is too large",
        "socket": "is a socket",
    }


@pytest.mark.parametrize("kind", ["playbooks", "patches"])
def test_no_file_takes_the_others_from_the_list(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    expected = odd_files(tmp_path)
    assert run(["list", kind, "--json", f"--{kind}", str(tmp_path)]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    broken = {row[kind.replace("es", "").removesuffix("s")]: row["error"] for row in rows if "error" in row}
    assert broken.keys() == expected.keys()
    for name, said in expected.items():
        assert said in broken[name]
    assert len(rows) > len(broken)


@pytest.mark.parametrize(
    "verb", [["show"], ["show", "--json"], ["plan", "--host", "local"], ["up", "--host", "local"]]
)
def test_no_playbook_does_more_than_be_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], verb: list[str]
) -> None:
    for name, said in odd_files(tmp_path).items():
        path = tmp_path / f"{name}.yaml"
        assert run([verb[0], str(path), *verb[1:]]) == 2
        told = capsys.readouterr()
        assert told.out == "" or "--json" in verb
        assert str(path) in told.err + told.out and said in " ".join((told.err + told.out).split())


def test_a_patch_that_cannot_be_read_is_not_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    odd_files(tmp_path)
    for name in ("latin", "large", "pipe", "folder", "dangling"):
        assert run(["show", name, "--patches", str(tmp_path)]) == 2
        assert capsys.readouterr().err.startswith("deploy: ")


@pytest.mark.parametrize(
    "name", ["~nobody-of-that-name/x.yaml", "x" * 300, "x" * 300 + ".yaml", "/dev/stdin/x.yaml"]
)
def test_a_name_that_no_file_can_have(capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert run(["show", name]) == 2
    assert capsys.readouterr().err.startswith("deploy: ")


def test_without_a_home_folder(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def nowhere() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", nowhere)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert run(["show", "kimi-k2.5"]) == 0
    assert run(["list", "patches"]) == 0
    assert "fp8-kv-mla" in capsys.readouterr().out
