"""Who holds memory of the cards, in words."""

from __future__ import annotations

import pytest

from orchestrator.facts.gpu_processes import GpuProcess
from orchestrator.plan.gpu_holders import holders
from tests.plan.test_gpu_room import on


@pytest.mark.parametrize(("count", "last"), [(3, "pid 3 (x) holds 10 MiB"), (5, "and 2 more")])
def test_many_holders_are_counted(count: int, last: str) -> None:
    listed = holders([on(0, 10, pid=pid, command="x", user=None) for pid in range(1, count + 1)])
    assert (len(listed), listed[-1]) == (min(count, 4), last)


@pytest.mark.parametrize(
    ("processes", "line"),
    [
        ([on(0, 40000, command="/opt/bin/python3 -m a b")], "pid 8121 (python3 -m a b, user ml) holds 40,000 MiB"),
        ([on(0, 1000), on(1, 24)], "pid 8121 (python3 train.py --api-key ***, user ml) holds 1,024 MiB on 2 GPUs"),
        ([on(0, 1000), on(1, None)], "pid 8121 (python3 train.py --api-key ***, user ml) holds memory on 2 GPUs"),
        ([on(0, 8, command=None, user=None)], "pid 8121 (python3) holds 8 MiB"),
        ([on(0, 8, command="a " + "b" * 58, user=None)], f"pid 8121 (a {'b' * 58}) holds 8 MiB"),
        ([on(0, 8, command="a " + "b" * 59, user=None)], f"pid 8121 (a {'b' * 54} ...) holds 8 MiB"),
        ([on(0, 8, command=f"a {'b' * 53} {'c' * 9}", user=None)], f"pid 8121 (a {'b' * 53} ...) holds 8 MiB"),
    ],
)  # fmt: skip
def test_a_holder_in_words(processes: list[GpuProcess], line: str) -> None:
    assert holders(processes) == [line]


def test_the_largest_are_named() -> None:
    listed = holders(
        [on(0, mib, pid=mib, command="x", user=None) for mib in (10, 20_000, 30, 400)]
        + [on(1, 30_000, pid=30, command="x", user=None)]
    )
    assert listed == [
        "pid 30 (x) holds 30,030 MiB on 2 GPUs",
        "pid 20000 (x) holds 20,000 MiB",
        "pid 400 (x) holds 400 MiB",
        "and 1 more",
    ]


def test_a_holder_in_a_container_is_named_by_it() -> None:
    process = GpuProcess("GPU-0", 812, "python3", 130000, "root", "python3 -m server", "8f2c01234567")
    (words,) = holders([process])
    assert words == "pid 812 (python3 -m server, user root, container 8f2c01234567) holds 130,000 MiB"
