"""What the stand-in cards tell is what the facts understand."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from orchestrator.facts import gpu_processes, gpus, p2p, topology
from orchestrator.facts.source import Said
from orchestrator.rehearsal import cards


def told(*arguments: str, folder: Path | None = None) -> Said:
    variables = {"STAND_IN_CARDS": str(folder)} if folder else {}
    argv: Sequence[str] = [sys.executable, "-I", "-S", cards.__file__, *arguments]
    done = subprocess.run(argv, env=variables, capture_output=True, text=True, check=True)
    return Said(done.returncode, done.stdout, done.stderr)


def test_eight_cards_of_capability_12_on_two_sockets() -> None:
    query = told(f"--query-gpu={','.join(gpus.FIELDS)}", "--format=csv,noheader,nounits")
    found = gpus.parse(query)
    assert isinstance(found, gpus.Gpus)
    assert [card.compute_cap for card in found.gpus] == ["12.0"] * 8
    assert {card.memory_mib for card in found.gpus} == {97887}
    links = topology.parse(told("topo", "-m"))
    assert isinstance(links, topology.Topology)
    assert (links.gpus, links.farthest, links.shape) == (8, ("SYS", 0, 4), "pcie_sockets")
    assert p2p.parse(told("topo", "-p2p", "r")) == ()


def test_memory_is_held_as_long_as_its_process_lives(tmp_path: Path) -> None:
    (tmp_path / "3").write_text(f"{os.getpid()} 1500 VLLM::Worker_TP3\n")
    (tmp_path / "4").write_text("999999999 1500 VLLM::Worker_TP4\n")
    (tmp_path / "5.part").write_text("half")
    used = told("--query-gpu=memory.used", "--format=csv,noheader,nounits", folder=tmp_path).out.split()
    assert used == ["2", "2", "2", "1502", "2", "2", "2", "2"]
    fields = "gpu_uuid,pid,process_name,used_gpu_memory"
    (process,) = gpu_processes.parse(told(f"--query-compute-apps={fields}", folder=tmp_path))  # type: ignore[misc]
    assert (process.pid, process.name, process.memory_mib) == (os.getpid(), "VLLM::Worker_TP3", 1500)
