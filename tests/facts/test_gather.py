"""All facts of this very machine, in one round trip."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from orchestrator.facts.disk import Disk
from orchestrator.facts.gather import Facts, questions, read
from orchestrator.facts.gpus import Gpu, Gpus
from orchestrator.facts.machine import Machine
from orchestrator.facts.source import Unknown
from orchestrator.facts.topology import Topology
from orchestrator.ssh.local import LocalHost

SMI = """#!/bin/sh
case "$*" in
  *query-gpu*) printf '%s\\n' '0, NVIDIA H200, GPU-1, 9.0, 143771, 14, 580.95.05, Disabled' \\
    '1, NVIDIA H200, GPU-2, 9.0, 143771, 14, 580.95.05, Disabled' ;;
  *query-compute-apps*) ;;
  *-p2p*) printf ' \\tGPU0\\tGPU1\\t\\n GPU0\\tX\\tOK\\t\\n GPU1\\tOK\\tX\\t\\n' ;;
  *topo*) printf '\\tGPU0\\tGPU1\\nGPU0\\t X \\tNV18\\nGPU1\\tNV18\\t X \\n' ;;
esac
"""


def gather(host: LocalHost, *, engine_python: str | None, folder: str) -> Facts:
    told = host.script("read_facts", questions(engine_python=engine_python, folder=folder))
    return read(told, engine_python=engine_python)


def test_a_machine_with_gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text(SMI)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(tmp_path))
    with LocalHost() as host:
        facts = gather(host, engine_python="~/no such/python3", folder="~/models/a b")
    assert isinstance(facts.machine, Machine)
    assert facts.machine.home == str(tmp_path)
    assert isinstance(facts.disk, Disk)
    assert facts.disk.folder == f"{tmp_path}/models/a b"
    assert isinstance(facts.engine, Unknown)
    assert facts.engine.code == "no_engine_python"
    assert f"{tmp_path}/no such/python3" in facts.engine.reason
    assert [card.uuid for card in facts.cards] == ["GPU-1", "GPU-2"]
    assert facts.compute_cap == "9.0"
    assert isinstance(facts.topology, Topology)
    assert facts.topology.shape == "nvlink"
    assert facts.no_p2p == ()
    assert facts.gpu_processes == ()


class Recorded(LocalHost):
    """A host that answers a request for facts with what was recorded."""

    def __init__(self, answers: dict[str, Any]) -> None:
        super().__init__()
        self.answers = answers

    def script(self, module: str, request: Any, **_: Any) -> Any:
        assert module == "read_facts"
        return {name: self.answers.get(name, {"missing": "/bin/sh"}) for name in request["commands"]}


def test_what_cannot_be_had_is_unknown_and_raises_nothing() -> None:
    with Recorded({"gpus": {"timed_out": 30.0}}) as host:
        facts = gather(host, engine_python=None, folder="/models")
    assert facts.gpus == Unknown("no_answer", "no answer within 30 s")
    assert facts.engine == Unknown("not_asked", "no interpreter of an engine was named")
    assert isinstance(facts.topology, Unknown)
    assert facts.cards == ()
    assert facts.compute_cap is None


def card(index: int, compute_cap: str | None) -> Gpu:
    return Gpu(index, "card", f"GPU-{index}", compute_cap, 1, 1, "580", None)


@pytest.mark.parametrize(
    ("capabilities", "expected"),
    [(("12.0", "9.0"), "9.0"), (("12.1", "12.0"), "12.0"), (("9.0", "10.0"), "9.0"), (("9.0", None), None)],
)
def test_the_lowest_capability_counts(capabilities: tuple[str | None, ...], expected: str | None) -> None:
    none = Unknown("x", "x")
    cards = Gpus(tuple(card(index, text) for index, text in enumerate(capabilities)))
    facts = Facts(none, none, none, cards, none, none, none)
    assert facts.compute_cap == expected
