"""A checkpoint that hosts give each other: from one that has it, from one that fetches it, and into one folder of all."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cli import main
from orchestrator.rehearsal.boxes import Boxes
from tests.waiting import PATIENCE_SECONDS, eventually

SMALL = ("--set", "parallel.tensor=2", "--set", "figures.weights_bytes=147000000000")
HEAD, WORKER = "rehearsal-1", "rehearsal-2"


class Two:
    """Two boxes, and the commands of a person at them."""

    def __init__(self, boxes: Boxes, capsys: pytest.CaptureFixture[str]) -> None:
        self.boxes = boxes
        self._capsys = capsys

    def words(self, verb: str, *options: str) -> list[str]:
        return self.boxes.command(verb, *SMALL, "--json", *options)

    def deploy(self, verb: str, *options: str) -> list[dict[str, Any]]:
        self._capsys.readouterr()
        ended = main.run(self.words(verb, *options)[3:])
        told = self._capsys.readouterr()
        assert ended == 0, told
        return [json.loads(line) for line in told.out.splitlines()]

    def forget(self, number: int) -> None:
        """As if nothing had ever been fetched there."""
        box = self.boxes.boxes[number]
        shutil.rmtree(box.checkpoint)
        shutil.rmtree(box.state / "download")

    @property
    def same(self) -> bool:
        """Whether what lies on the worker is the Hub's, byte by byte."""
        hub, there = self.boxes.head.repository, self.boxes.boxes[1].checkpoint
        names = [path.relative_to(hub) for path in hub.rglob("*.safetensors")]
        return bool(names) and all((there / name).read_bytes() == (hub / name).read_bytes() for name in names)


@pytest.fixture
def two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Two]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with Boxes(pace="fast") as boxes:
        yield Two(boxes, capsys)


def ends(told: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """How each host's download ended."""
    return {line["host"]: line for line in told if line.get("step") == "download" and "fetched" in line}


def downloads(plan: dict[str, Any]) -> list[str]:
    return [
        step["effects"][0] for host in plan["hosts"] for step in host["steps"] if step["name"] == "download"
    ]


@pytest.mark.thorough
def test_a_checkpoint_goes_from_host_to_host(two: Two, tmp_path: Path) -> None:
    head, hub = two.boxes.head, two.boxes.head.hub
    (plan,) = two.deploy("plan")
    first, second = downloads(plan)
    assert first.endswith(f"from the Hub, and on to {WORKER}")
    assert second.endswith(f"from {HEAD} over 127.0.0.1 as it comes there")
    shard = sorted(head.repository.glob("*.safetensors"))[-1].name
    a_controller_is_killed_in_the_middle(two, shard)
    two.deploy("up")
    assert two.same
    two.deploy("stop")

    two.forget(1)
    flipped = head.checkpoint / shard
    flipped.write_bytes(flipped.read_bytes()[:-1] + bytes([flipped.read_bytes()[-1] ^ 1]))
    hub.requests.clear()
    told = two.deploy("up")
    assert [line["text"].split(":")[0] for line in told if line.get("source") == HEAD] == [
        f"{shard} of {HEAD} is not the repository's by its hash"
    ]
    assert ends(told)[WORKER]["given"].keys() == {HEAD}
    assert hub.fetched() == [shard] and two.same
    two.deploy("stop")

    folder = ("--set", f"checkpoint.folder={tmp_path / 'of-both'}")
    told = two.deploy("up", *folder)
    assert (ends(told)[HEAD]["fetched"] > 0, ends(told)[WORKER]["fetched"]) == (True, 0)
    assert ends(told)[WORKER]["same_as"] == HEAD
    assert not list((tmp_path / "of-both").glob(".deploy-*"))
    two.deploy("stop", *folder)


def a_controller_is_killed_in_the_middle(two: Two, shard: str) -> None:
    hub = two.boxes.head.hub
    hub.hold[shard] = threading.Event()
    deploying = subprocess.Popen(
        two.words("up"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    assert hub.held.wait(PATIENCE_SECONDS)
    worker = two.boxes.boxes[1].checkpoint
    eventually(lambda: len(list(worker.glob("*.safetensors"))) > 5)
    os.killpg(deploying.pid, signal.SIGKILL)
    deploying.wait()
    hub.hold.pop(shard).set()
