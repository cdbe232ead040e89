from __future__ import annotations

import pytest

from orchestrator.base.errors import UsageError
from orchestrator.hosts.config import Resolved
from orchestrator.hosts.route import route
from orchestrator.hosts.target import Target, parse_target


def way(start: str, **jumps: str) -> list[str]:
    """The way to `start` where each named host has that ProxyJump."""

    def resolve(target: Target) -> Resolved:
        named = tuple(filter(None, jumps.get(target.host, "").split(",")))
        return Resolved(target.host, target.port or 22, target.user or "me", proxy_jump=named)

    return [hop.name for hop in route(parse_target(start), resolve)]


def test_direct() -> None:
    assert way("gpu") == ["gpu"]


def test_hops_in_order() -> None:
    assert way("gpu", gpu="a,ada@b:33,c") == ["a", "ada@b:33", "c", "gpu"]


def test_the_first_hop_follows_its_own_configuration() -> None:
    assert way("gpu", gpu="a,b", a="outer", b="ignored") == ["outer", "a", "b", "gpu"]


def test_a_host_that_jumps_through_itself_is_reached_directly() -> None:
    assert way("gpu", gpu="bastion", bastion="bastion") == ["bastion", "gpu"]


def test_a_loop_is_reported() -> None:
    with pytest.raises(UsageError) as caught:
        way("gpu", gpu="a", a="b", b="a")
    assert caught.value.code == "ssh_config"
