"""Which kinds of launches are there: every file of the room that has one, under the name that stands on record."""

from __future__ import annotations

import importlib
import pkgutil

from orchestrator.on_host import kinds
from orchestrator.on_host.kinds import registry


def test_every_kind_of_the_room_is_known_by_its_name() -> None:
    files = [
        importlib.import_module(f"{kinds.__name__}.{module.name}")
        for module in pkgutil.iter_modules(kinds.__path__)
    ]
    there = [vars(file)["KIND"] for file in files if "KIND" in vars(file)]
    assert {kind.name: kind for kind in there} == registry.KINDS
    assert registry.USUAL in there
