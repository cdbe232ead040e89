"""The plan of hosts that serve one model together, as text: what is common once."""

from __future__ import annotations

from dataclasses import replace

from orchestrator.engines.node import Node
from orchestrator.plan.plan import make_plan
from orchestrator.plan.wishes import Wishes
from orchestrator.report.group_plan_text import whole
from orchestrator.report.plan_text import command
from orchestrator.steps.course import Course, course
from tests.jobs import KIMI, PATCHES, job
from tests.plan.hosts import host

HEAD = Node(0, 2, "10.0.0.1", 29501, "10.0.0.1", "eth0")


def planned(node: Node, name: str, engine: str = "0.16.0") -> Course:
    spread = KIMI.with_overrides(["parallel.nodes=2", "parallel.pipeline=2"]).as_node(node)
    wishes = Wishes(patches=PATCHES, engine_version=engine)
    plan = make_plan(name, spread, host(), wishes)
    return course(replace(job(), playbook=spread), plan, "up")


def test_what_is_common_is_told_once_and_what_differs_with_its_host() -> None:
    head = planned(HEAD, "a")
    worker = planned(replace(HEAD, rank=1, address="10.0.0.2", interface="ib0"), "b", engine="0.16.1")
    lines = whole([head, worker])
    assert lines[0] == "kimi-k2.5 on 2 hosts"
    rows = [line.split() for line in lines[1:4]]
    assert rows[0] == ["host", "role", "ranks", "GPUs", "address", "interface"]
    assert rows[1] == ["a", "head", "0-7", "8", "of", "8", "10.0.0.1", "eth0"]
    assert rows[2] == ["b", "worker", "1", "8-15", "8", "of", "8", "10.0.0.2", "ib0"]
    assert [line[2:6] for line in lines].count("fit ") == 1
    assert [line for line in lines if line.startswith("  with ")] == [
        "  with       a: 8x RTX PRO 6000 Blackwell Server Edition (cc 12.0), vllm 0.16.0",
        "  with       b: 8x RTX PRO 6000 Blackwell Server Edition (cc 12.0), vllm 0.16.1",
    ]
    summed = lines[: lines.index("steps")]
    assert not any("10.0.0.2" in line for line in summed[4:]), "the table says it"
    at = lines.index("on b the same, but for")
    assert "  --node-rank 1 \\" in lines[at:]
    assert "  --tensor-parallel-size 8 \\" not in lines[at:]
    assert lines[at - len(command(head.plan)) - 2] == "command, on a"
    assert max(len(line) for line in summed) <= 80


def test_of_hosts_that_serve_each_for_itself_it_is_told_once_as_well() -> None:
    wishes = Wishes(patches=PATCHES, engine_version="0.16.0")
    courses = [course(job(), make_plan(name, KIMI, host(), wishes), "up") for name in ("a", "b", "c")]
    lines = whole(courses)
    assert lines[:2] == ["kimi-k2.5 on 3 hosts", "  hosts      a, b, c, each for itself"]
    assert [line[2:6] for line in lines].count("fit ") == 1
    assert "on b, c the same" in lines
