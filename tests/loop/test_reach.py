"""Two hosts with networks of their own dial each other, and are cut off from each other."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from orchestrator.checks.between.reach import check
from orchestrator.engines.node import Node
from orchestrator.hosts.connect import open_host
from orchestrator.loop.reach import Party, reached
from tests.two_hosts import NoHosts, two_hosts

MEETING = 29501


def failing(parties: Sequence[Party]) -> list[str]:
    return [each.sentence for each in check(reached(parties), MEETING) if each.verdict == "fail"]


@pytest.mark.thorough
def test_hosts_that_are_cut_off_from_each_other_are_told_in_seconds() -> None:
    try:
        with two_hosts() as two:
            opened = [open_host(host.name, ssh_config=two.ssh_config) for host in two.hosts]
            head = two.hosts[0].address
            parties = [
                Party(host, Node(rank, 2, head, MEETING, own.address, "eth0"))
                for rank, (host, own) in enumerate(zip(opened, two.hosts, strict=True))
            ]
            assert failing(parties) == []
            two.cut()
            lost = failing(parties)
            two.mend()
            assert failing(parties) == []
            for host in opened:
                host.close()
    except NoHosts as error:
        pytest.skip(str(error))
    (sentence, *others) = lost
    assert "every port is dropped, nothing comes back" in sentence and len(others) <= 1
