"""Which texts are shipped for a program: itself and what it imports, dependencies first."""

from __future__ import annotations

import pkgutil

import pytest

import orchestrator.on_host
import orchestrator.on_host.programs
from orchestrator.hosts import ship

PROGRAMS = sorted(module.name for module in pkgutil.iter_modules(orchestrator.on_host.programs.__path__))


def test_every_room_is_known() -> None:
    rooms = {module.name for module in pkgutil.iter_modules(orchestrator.on_host.__path__) if module.ispkg}
    assert set(ship.ROOMS) == rooms


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_comes_last_and_after_all_that_it_imports(program: str) -> None:
    modules = ship._modules(program)
    assert modules[-1][0] == f"{ship.PACKAGE}.programs.{program}"
    before: set[str] = set()
    for name, _, text in modules:
        imported = {f"{ship.PACKAGE}.{module}" for module in ship._imported(text)}
        assert imported <= before, name
        before.add(name)
