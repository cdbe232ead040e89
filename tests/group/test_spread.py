"""How a playbook becomes one for several hosts."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from orchestrator.base.errors import UsageError
from orchestrator.group.spread import nodes, spread, unplanned
from orchestrator.playbook.playbook import Playbook
from tests.group.test_meeting import host

MODEL = {"repository": "org/model"}


def playbook(parallel: dict[str, Any], *settings: str, **more: Any) -> Playbook:
    made = Playbook.model_validate(
        {"name": "model", "model": MODEL, "context": 4096, "parallel": parallel, **more}
    )
    return made.with_overrides(settings)


@pytest.mark.parametrize(
    ("parallel", "more", "hosts", "ranks", "on_each"),
    [
        ({"tensor": 8}, {}, 2, (8, 2, 1), 8),
        ({"tensor": 4, "pipeline": 2}, {}, 3, (4, 6, 1), 8),
        ({"tensor": 16, "nodes": 2}, {}, 2, (16, 1, 1), 8),
        ({"tensor": 2}, {"needs": {"gpus": 0}}, 2, (2, 1, 1), 0),
        ({}, {"needs": {"gpus": 0}}, 2, (2, 1, 1), 0),
        ({"tensor": 2, "data": 4}, {}, 2, (2, 1, 8), 8),
    ],
    ids=["stages over hosts", "more stages", "as the playbook says", "CPUs", "CPUs of one rank", "copies"],
)
def test_ranks_lie_on_all_hosts(
    parallel: dict[str, int], more: dict[str, Any], hosts: int, ranks: tuple, on_each: int
) -> None:
    whole, choices = spread(playbook(parallel, **more), hosts)
    now = whole.parallel
    assert (now.tensor, now.pipeline, now.data) == ranks
    assert now.nodes == hosts
    assert whole.gpus == on_each
    assert {choice.key: choice.value for choice in choices}.get(("parallel", "nodes"), hosts) == hosts
    assert all(choice.reason for choice in choices)


def test_hosts_for_which_nothing_is_planned_meet_all_the_same() -> None:
    listed = {
        "a": host("one", ("eth0", "10.0.0.1/24", None)),
        "b": host("two", ("eth0", "10.0.0.2/24", None)),
    }
    places = unplanned(listed)
    assert [(place.rank, place.of, place.head, place.address) for place in places.values()] == [
        (0, 2, "10.0.0.1", "10.0.0.1"),
        (1, 2, "10.0.0.1", "10.0.0.2"),
    ]


def test_another_number_of_hosts_than_the_playbooks_is_refused() -> None:
    with pytest.raises(UsageError, match="spread over 2 hosts, and 4 are named: name 2") as refused:
        spread(playbook({"tensor": 16, "nodes": 2}), 4)
    assert refused.value.known["setting"] == "parallel.nodes=4"
    with pytest.raises(UsageError) as refused:
        spread(playbook({"tensor": 16, "nodes": 2}), 3)
    assert "setting" not in refused.value.known  # 16 ranks are not shared evenly by 3
    with pytest.raises(UsageError):
        spread(playbook({"tensor": 8}, "parallel.nodes=1"), 2)


def test_what_an_option_says_of_stages_or_copies_stays() -> None:
    stages, choices = spread(playbook({"tensor": 8}, "parallel.pipeline=4"), 2)
    assert (stages.parallel.pipeline, [choice.name for choice in choices]) == (4, ["parallel.nodes"])
    copies, choices = spread(playbook({"tensor": 8}, "parallel.data=2"), 2)
    assert (copies.parallel.data, [choice.name for choice in choices]) == (2, ["parallel.nodes"])
    with pytest.raises(UsageError, match="3 ranks cannot be shared evenly by 2 hosts"):
        spread(playbook({"tensor": 1}, "parallel.pipeline=3"), 2)


def test_ranks_that_cannot_be_shared_evenly_are_refused() -> None:
    with pytest.raises(ValidationError, match="2 copies cannot be shared evenly by 4 hosts"):
        playbook({"tensor": 2, "data": 2, "nodes": 4})
    with pytest.raises(ValidationError, match="external is for one copy a host"):
        playbook({"data": 4, "nodes": 2, "balance": "external"})
    with pytest.raises(ValidationError, match="8 ranks cannot be shared evenly by 3 hosts"):
        playbook({"tensor": 8, "nodes": 3})
    with pytest.raises(
        ValidationError, match="each copy lies whole on a host, and Ray is for one over several"
    ):
        playbook({"tensor": 8, "data": 2, "nodes": 2, "through": "ray"})


def test_the_first_host_is_the_head() -> None:
    whole, _ = spread(playbook({"tensor": 8}, figures={"weights_bytes": 600_000_000_000}), 2)
    own = nodes(
        whole, {"b": host("two", ("ib1", "10.0.0.2/24", 1)), "a": host("one", ("ib0", "10.0.0.1/24", 1))}
    )
    assert [(name, each.rank, each.role) for name, each in own.items()] == [
        ("b", 0, "head"),
        ("a", 1, "worker 1"),
    ]
    assert {each.head for each in own.values()} == {"10.0.0.2"}
    assert (own["a"].address, own["a"].interface) == ("10.0.0.1", "ib0")
    assert own["a"].patience == 60 + 300  # a host that reads its half at a gigabyte a second
    assert whole.as_node(own["b"]).serves
    assert not whole.as_node(own["a"]).serves
    assert whole.serves


def test_they_meet_at_the_port_that_the_playbook_names() -> None:
    whole, _ = spread(playbook({"tensor": 8}, "arguments.master-port=29600", "parallel.through=ray"), 2)
    own = nodes(
        whole, {"a": host("one", ("ib0", "10.0.0.1/24", 1)), "b": host("two", ("ib0", "10.0.0.2/24", 1))}
    )
    assert {(each.port, each.through) for each in own.values()} == {(29600, "ray")}
