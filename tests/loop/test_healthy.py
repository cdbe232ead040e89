"""What is told of a deployment from which completions come out, and of which host where several answer."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.base.events import Report
from orchestrator.engines.node import MEETING_PORT, Balance, Node
from orchestrator.loop.healthy import tell_healthy
from tests.jobs import KIMI, Told, job

HEAD = ("follow", "undo", "stop")


@pytest.mark.parametrize(
    ("rank", "balance", "where", "commands"),
    [
        (None, "internal", "", HEAD),
        (0, "internal", "", HEAD),
        (0, "external", " on gpu7", HEAD),
        (1, "hybrid", " on gpu7", ()),
    ],
)
def test_of_several_that_answer_each_for_itself_the_host_is_told_and_the_commands_once(
    rank: int | None, balance: Balance, where: str, commands: tuple[str, ...]
) -> None:
    told = Told()
    playbook = KIMI
    if rank is not None:
        node = Node(rank, 2, "10.0.0.1", MEETING_PORT, "10.0.0.1", "eth0", balance=balance)
        playbook = KIMI.as_node(node)
    mine = replace(job(), playbook=playbook, command=lambda verb: f"deploy {verb} kimi-k2.5")
    tell_healthy(mine, Report(told, "gpu7"), served=131072, asked=131072)
    (first, _, *rest) = told.events[-1].text.splitlines()
    assert f"/v1{where}   model kimi-k2.5" in first
    assert tuple(line.split()[0] for line in rest) == commands
