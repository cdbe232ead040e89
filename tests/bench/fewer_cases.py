"""Which labelled logs are enough to notice a fault? One in three, for `mutants.py`, where each is read thousands of times."""

from __future__ import annotations

import zlib

import pytest


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """By the name alone, so that whoever runs a test by its name keeps what the whole run kept."""
    out = {each for each in items if "::test_case[" in each.nodeid and zlib.crc32(each.name.encode()) % 3}
    config.hook.pytest_deselected(items=[*out])
    items[:] = [each for each in items if each not in out]
