"""How GPUs are connected, and what NCCL is told about it."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.facts import p2p, topology
from orchestrator.facts.source import Output, Unknown
from orchestrator.facts.topology import Topology, suggest_nccl
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


@pytest.mark.parametrize(
    ("numbers", "wanted", "pair"),
    [
        ((0,), {}, ""),
        ((0, 1), {}, ""),
        ((0, 2), {"NCCL_P2P_LEVEL": "PHB"}, "GPU0-GPU2 is NODE"),
        ((2, 3, 4), {"NCCL_P2P_LEVEL": "SYS"}, "GPU2-GPU4 is SYS"),
        ((5, 4), {}, ""),
    ],
)
def test_some_of_the_gpus(numbers: tuple[int, ...], wanted: dict[str, str], pair: str) -> None:
    """Those of a launch alone count, by the numbers that they have on the host."""
    read = topology.parse(Output(0, (CASES / "topology" / "pcie_8gpu_pix_node_sys_nic.txt").read_text()))
    assert isinstance(read, Topology)
    suggested = suggest_nccl(read, sockets=1, cpu_vendor="GenuineIntel", among=numbers)
    assert {item.name: item.value for item in suggested} == wanted
    assert all(item.reason.startswith(pair) for item in suggested)
