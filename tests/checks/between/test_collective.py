"""What a collective over several hosts came to, put together of what each of them told."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.checks.between.collective import MeasuredBetween, check, joined
from orchestrator.programs.collective import CollectiveOutcome, Timing


def outcome(
    state: Any = "done", at: Any = "checked", *, reason: str | None = None, **more: Any
) -> CollectiveOutcome:
    return CollectiveOutcome(
        **{
            "state": state,
            "at": at,
            "ranks_silent": (),
            "seconds": 3.0,
            "torch": "2.13.0",
            "nccl": None,
            "wrong": 0,
            "measured": (Timing(bytes=8192, seconds=0.001), Timing(bytes=1 << 22, seconds=0.004)),
            "code": reason and "error",
            "reason": reason,
            "lines": (),
            "left": (),
            **more,
        }
    )


def told(result: CollectiveOutcome, hosts: str = "ab", **pairs: CollectiveOutcome) -> list[tuple[str, str]]:
    measured = MeasuredBetween(
        len(hosts), False, result, {(pair[0], pair[1]): each for pair, each in pairs.items()}
    )
    return [(each.verdict, each.sentence) for each in check(measured, list(hosts))]


def test_the_slowest_host_counts() -> None:
    slow = outcome(measured=(Timing(bytes=8192, seconds=0.002), Timing(bytes=1 << 22, seconds=0.008)))
    whole = joined({"a": outcome(), "b": slow})
    assert [timing.seconds for timing in whole.measured] == [0.002, 0.008]
    assert told(whole) == [("pass", "all-reduce over 2 processes on CPUs of a and b: 0.5 GB/s, 2000 us")]


@pytest.mark.parametrize(
    ("ends", "words"),
    [
        ({"a": outcome("silent", "ready"), "b": outcome("failed", "starting", reason="No module named 'torch'")}, "failed (b: No module named 'torch')"),
        ({"a": None, "b": outcome("failed", "ready", reason="refused")}, "failed (b: refused)"),
        ({"a": outcome("silent", "ready"), "b": outcome("silent", "ready")}, "stood still at the first sum"),
        ({"a": outcome(wrong=3), "b": outcome(wrong=4)}, "added up wrongly (7 numbers)"),
    ],
    ids=["who failed knows more than who waited", "one that was left", "both wait", "wrong sums"],
)  # fmt: skip
def test_what_failed_is_told_with_its_host(ends: dict[str, CollectiveOutcome | None], words: str) -> None:
    ((verdict, sentence),) = told(joined(ends))
    assert (verdict, sentence) == ("fail", f"all-reduce over 2 processes on CPUs of a and b: {words}")


def test_the_pair_that_cannot_is_named_and_where_all_can_that_is_told() -> None:
    still = outcome("silent", "ready")
    assert told(still, "abc", ab=outcome(), ac=still, bc=outcome())[1:] == [
        ("fail", "a and c: stood still at the first sum")
    ]
    assert told(still, "abc", ab=outcome(), ac=outcome(), bc=outcome())[1:] == [
        ("warn", "each of 3 pairs of hosts does well by itself")
    ]
