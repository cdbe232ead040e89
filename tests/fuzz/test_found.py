"""What once failed is tried for ever, and so is a file or two that every target begins with."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.targets import TARGETS

FOUND = Path(__file__).with_name("found")


@pytest.mark.parametrize(
    "path", sorted(FOUND.glob("*/*")), ids=lambda path: f"{path.parent.name}-{path.name}"
)
def test_what_once_failed(path: Path) -> None:
    TARGETS[path.parent.name].check(path.read_bytes())


@pytest.mark.parametrize("name", TARGETS)
def test_what_a_target_begins_with(name: str) -> None:
    for data in (b"", b"\0", *(path.read_bytes() for path in TARGETS[name].seeds()[:3])):
        TARGETS[name].check(data)
