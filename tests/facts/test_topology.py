"""How GPUs are connected, and what NCCL is told about it."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.facts import p2p, topology
from orchestrator.facts.source import Output, Unknown
from orchestrator.facts.topology import Topology, suggest_nccl, unfounded_nccl
from tests.facts.cases_of import CASES, cases


@pytest.mark.parametrize(("output", "expected"), cases("topology"))
def test_matrices(output: Output, expected: dict[str, Any]) -> None:
    read = topology.parse(output)
    if "unknown" in expected:
        assert isinstance(read, Unknown)
        assert read.code == expected["unknown"]
        return
    assert isinstance(read, Topology)
    assert read.gpus == expected["gpus"]
    assert read.shape == expected["shape"]
    assert read.farthest == (tuple(expected["farthest"]) if expected["farthest"] else None)
    for cpu, wanted in expected["nccl"].items():
        vendor, sockets = cpu.split()
        suggested = suggest_nccl(read, sockets=int(sockets), cpu_vendor=vendor)
        assert {item.name: item.value for item in suggested} == wanted, cpu
        assert all(item.reason for item in suggested)


@pytest.mark.parametrize(("output", "expected"), cases("p2p"))
def test_peer_to_peer(output: Output, expected: dict[str, Any]) -> None:
    refused = p2p.parse(output)
    assert not isinstance(refused, Unknown)
    assert [list(pair) for pair in refused] == expected["refused"]
    gpus = expected["gpus"]
    links = tuple(tuple("X" if a == b else "SYS" for b in range(gpus)) for a in range(gpus))
    suggested = suggest_nccl(Topology(links), sockets=2, cpu_vendor="GenuineIntel", no_p2p=refused)
    assert {item.name: item.value for item in suggested} == {
        name: str(value) for name, value in expected["nccl"].items()
    }


def test_what_a_playbook_sets_without_reason_is_named() -> None:
    read = topology.parse(Output(0, (CASES / "topology" / "pcie_8gpu_node_sys.txt").read_text()))
    assert isinstance(read, Topology)
    playbook = {"NCCL_P2P_LEVEL": "SYS", "NCCL_PROTO": "LL", "NCCL_DEBUG": "INFO"}
    amd = suggest_nccl(read, sockets=2, cpu_vendor="AuthenticAMD")
    intel = suggest_nccl(read, sockets=2, cpu_vendor="GenuineIntel")
    unsure = suggest_nccl(read, sockets=None, cpu_vendor=None)
    assert unfounded_nccl(playbook, amd) == ()
    assert [name for name, _ in unfounded_nccl(playbook, intel)] == ["NCCL_PROTO"]
    assert [name for name, _ in unfounded_nccl(playbook, unsure)] == ["NCCL_PROTO"]
    assert [name for name, _ in unfounded_nccl(playbook, ())] == ["NCCL_P2P_LEVEL", "NCCL_PROTO"]
