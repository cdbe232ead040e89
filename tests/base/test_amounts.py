"""Amounts as people read them."""

from __future__ import annotations

import pytest

from orchestrator.base.amounts import beside, bracketed, decimal, duration, rounded


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "0.0s"),
        (0.44, "0.4s"),
        (9.94, "9.9s"),
        (9.95, "9s"),
        (59.9, "59s"),
        (60, "1m00s"),
        (842, "14m02s"),
        (3599.9, "59m59s"),
        (3600, "1h00m"),
        (7530, "2h05m"),
        (90_000, "25h00m"),
    ],
)
def test_a_duration(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (-1, "0s"),
        (0.9, "0s"),
        (9.99, "9s"),
        (10, "10s"),
        (41.7, "41s"),
        (1800, "30m"),
        (1801, "30m01s"),
        (3900, "1h05m"),
    ],
)
def test_an_estimate_is_told_without_what_nobody_knows(seconds: float, shown: str) -> None:
    assert rounded(seconds) == shown


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (99_949, "99.9 kB"),
        (100_000, "100 kB"),
        (4_950_000, "5.0 MB"),
        (590_700_000_000, "591 GB"),
        (1_500_000_000_000, "1.5 TB"),
        (2_500_000_000_000_000, "2500.0 TB"),
    ],
)
def test_bytes_are_counted_as_the_hub_does(count: int, shown: str) -> None:
    assert decimal(count) == shown


@pytest.mark.parametrize(
    ("address", "shown"),
    [("::1", "[::1]"), ("[::1]", "[::1]"), ("10.0.0.8", "10.0.0.8"), ("node-a", "node-a")],
)
def test_an_address_in_a_url(address: str, shown: str) -> None:
    assert bracketed(address) == shown


@pytest.mark.parametrize(
    ("served", "asked", "shown"),
    [
        (46112, 131072, "46112 (asked 131072)"),
        (131072, 131072, "131072"),
        (512, None, "512"),
        (512, "auto", "512 (auto: as many as fit)"),
    ],
)
def test_a_context_beside_what_was_asked_for(served: int, asked: int | str | None, shown: str) -> None:
    assert beside(served, asked) == shown
