"""A box as a library: for a test of somebody's own playbook or patch."""

from __future__ import annotations

import json
import os
import stat
import urllib.request
from pathlib import Path

import pytest

from orchestrator.base.errors import UsageError
from orchestrator.rehearsal import Box
from orchestrator.rehearsal.pytest_plugin import StartBox, rehearsal_host

__all__ = ["rehearsal_host"]


def test_the_fixture_runs_ones_own_playbook(rehearsal_host: StartBox, tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text(
        "model: {repository: me/my-model, served_name: mine}\n"
        "context: 4096\n"
        "parallel: {tensor: 2}\n"
        "arguments: {max-num-seqs: 4}\n"
    )
    box = rehearsal_host(mine)
    left = box.deploy("up", "--json")
    assert left.returncode == 0, left.stdout + left.stderr
    command = json.loads((box.state / "launches" / "1" / "command.json").read_text())["argv"]
    assert command[command.index("--max-num-seqs") + 1] == "4"
    with urllib.request.urlopen(f"http://127.0.0.1:{box.port}/v1/models") as answer:
        assert [model["id"] for model in json.load(answer)["data"]] == ["mine"]
    assert json.loads(box.deploy("status", "--json").stdout)["state"] == "healthy"


def test_ones_own_checkpoint_is_served(rehearsal_host: StartBox, tmp_path: Path) -> None:
    from orchestrator.rehearsal import tiny_mla

    box = rehearsal_host(checkpoint=tiny_mla.make(tmp_path / "tiny"))
    assert box.hub.commit(box.playbook.model.repository)
    assert len(list(box.repository.glob("*.safetensors"))) == 6


def test_it_stands_alone_and_goes_without_a_trace() -> None:
    with Box(pace="fast") as box:
        with box.open_host() as host:
            seen = dict(
                line.split("=", 1) for line in host.run("env").stdout.decode().splitlines() if "=" in line
            )
            assert seen["HOME"] == str(box.home)
            assert not [name for name in seen if name.startswith("HF_") or name.lower().endswith("_proxy")]
            assert host.run("nvidia-smi --query-gpu=index --format=csv,noheader").stdout.split() == [
                b"%d" % card for card in range(8)
            ]
            pid = host.run("sleep 600 >/dev/null 2>&1 & echo $!").stdout.strip()
        assert stat.S_IMODE(box.folder.stat().st_mode) == 0o700
    assert not box.folder.exists()
    assert (
        not Path(f"/proc/{int(pid)}/cmdline").exists() or not Path(f"/proc/{int(pid)}/cmdline").read_bytes()
    )


def test_a_failure_while_it_is_built_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(FileNotFoundError), Box(checkpoint=tmp_path / "missing"):
        pass
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("asked", "code"),
    [({"playbook": "nobodys"}, "unknown_playbook"), ({"fault": "nonsense"}, "unknown_fault")],
)
def test_what_does_not_exist_is_named(asked: dict[str, str], code: str) -> None:
    with pytest.raises(UsageError) as caught:
        Box(**asked)  # type: ignore[arg-type]
    assert caught.value.code == code
