"""What the stand-in cards tell is what the facts understand."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from orchestrator.facts import gpu_processes, gpus, p2p, topology
from orchestrator.facts.source import Output
from orchestrator.rehearsal import cards, environment


def nvidia_smi(*arguments: str, folder: Path | None = None) -> Output:
    variables = {"STAND_IN_CARDS": str(folder)} if folder else {}
    argv: Sequence[str] = [sys.executable, "-I", "-S", cards.__file__, *arguments]
    done = subprocess.run(argv, env=variables, capture_output=True, text=True, check=True)
    return Output(done.returncode, done.stdout, done.stderr)


def test_eight_cards_of_capability_12_on_two_sockets() -> None:
    output = nvidia_smi(f"--query-gpu={','.join(gpus.FIELDS)}", "--format=csv,noheader,nounits")
    read = gpus.parse(output)
    assert isinstance(read, gpus.Gpus)
    assert [card.compute_cap for card in read.gpus] == ["12.0"] * 8
    assert {card.memory_mib for card in read.gpus} == {97887}
    links = topology.parse(nvidia_smi("topo", "-m"))
    assert isinstance(links, topology.Topology)
    assert (links.gpus, links.farthest, links.shape) == (8, ("SYS", 0, 4), "pcie_sockets")
    assert p2p.parse(nvidia_smi("topo", "-p2p", "r")) == ()


def test_memory_is_held_as_long_as_its_process_lives(tmp_path: Path) -> None:
    (tmp_path / "3").write_text(f"{os.getpid()} 1500 VLLM::Worker_TP3\n")
    (tmp_path / "4").write_text("999999999 1500 VLLM::Worker_TP4\n")
    (tmp_path / "5.part").write_text("half")
    used = nvidia_smi("--query-gpu=memory.used", "--format=csv,noheader,nounits", folder=tmp_path).out.split()
    assert used == ["2", "2", "2", "1502", "2", "2", "2", "2"]
    fields = "gpu_uuid,pid,process_name,used_gpu_memory"
    (process,) = gpu_processes.parse(nvidia_smi(f"--query-compute-apps={fields}", folder=tmp_path))  # type: ignore[misc]
    assert (process.pid, process.name, process.memory_mib) == (os.getpid(), "VLLM::Worker_TP3", 1500)


def test_what_the_shell_answers_is_what_the_cards_would(tmp_path: Path) -> None:
    laid = environment.make(tmp_path / "engine", cards=2)
    program = laid.folder / "tools"
    for question in (*environment.STILL, ("-L",), ("--query-gpu=index", "--format=csv")):
        answers = [
            subprocess.run(argv, capture_output=True, text=True, check=True).stdout
            for argv in (
                [program / "nvidia-smi", *question],
                [sys.executable, program / "cards.py", *question],
            )
        ]
        assert answers[0] == answers[1] != ""
