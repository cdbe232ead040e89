"""How does `mutants.py` have the tests run: which labelled logs are enough, and what must not be remembered?"""

from __future__ import annotations

import sys
import zlib

import pytest

from orchestrator.patches import literals


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """One labelled log in three, since each is read thousands of times; by the name alone, so that whoever runs a test
    by its name keeps what the whole run kept. And none whose name pytest does not find again (two backslashes in it):
    asking for it fails, and every change would seem to be noticed."""
    out = {
        each
        for each in items
        if ("::test_case[" in each.nodeid and zlib.crc32(each.name.encode()) % 3) or r"\\" in each.nodeid
    }
    config.hook.pytest_deselected(items=[*out])
    items[:] = [each for each in items if each not in out]


def pytest_sessionstart() -> None:
    """A process that tries a change comes from one that ran all tests without it, and knows their answers."""
    literals._known.clear()
    for name, module in list(sys.modules.items()):
        if name.startswith("orchestrator."):
            for value in vars(module).values():
                if callable(forget := getattr(value, "cache_clear", None)):
                    forget()
