"""What uv prints while it fetches, as uv 0.13 prints it, added up."""

from __future__ import annotations

from orchestrator.on_host.environments.wheel_bytes import WheelBytes


def test_the_larger_wheels_are_added_up() -> None:
    wheels = WheelBytes()
    assert wheels.after("Resolved 3 packages in 394ms") == {}
    assert wheels.after("Downloading scipy (33.5MiB)") == {"bytes": 0, "total": 35127296}
    assert wheels.after("Downloading numpy (512KiB)") == {"bytes": 0, "total": 35651584}
    assert wheels.after(" Downloaded numpy") == {"bytes": 524288, "total": 35651584}
    assert wheels.after(" Downloaded scipy") == {"bytes": 35651584, "total": 35651584}
    assert wheels.after("Prepared 3 packages in 2.15s") == {}


def test_what_was_not_begun_counts_for_nothing() -> None:
    assert WheelBytes().after(" Downloaded tea") == {}
