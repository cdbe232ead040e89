"""A group is of hosts that each have a deployment of their own."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.group.group import Group, GroupHost
from tests.jobs import Answering, job


def test_a_host_that_serves_alone_is_a_group_of_one() -> None:
    alone = job()
    group = Group.of(alone)
    assert (group.name, [host.job for host in group.hosts]) == ("kimi-k2.5", [alone])


def test_one_host_may_be_in_it_twice_under_two_names() -> None:
    first = job()
    second = replace(first, playbook=first.playbook.as_instance("other"))
    assert len(Group("pair", (GroupHost("a", first), GroupHost("b", second))).hosts) == 2


@pytest.mark.parametrize("times", [0, 2])
def test_nobody_and_one_deployment_twice_are_none(times: int) -> None:
    with pytest.raises(ValueError, match="a deployment of its own"):
        Group("pair", (GroupHost("a", job(Answering())),) * times)
