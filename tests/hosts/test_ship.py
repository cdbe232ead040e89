"""Which texts are shipped for a program: itself and what it imports, dependencies first."""

from __future__ import annotations

import ast
import pkgutil
import sys

import pytest

import orchestrator.on_host
import orchestrator.on_host.programs
from orchestrator.hosts import ship
from tests.of_each import of_each

PROGRAMS = sorted(module.name for module in pkgutil.iter_modules(orchestrator.on_host.programs.__path__))
MODULES = sorted(
    module.name.removeprefix(f"{ship.PACKAGE}.")
    for module in pkgutil.walk_packages(orchestrator.on_host.__path__, f"{ship.PACKAGE}.")
    if not module.ispkg
)


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


@of_each(MODULES)
def test_what_a_module_imports_is_read_as_python_reads_it(module: str) -> None:
    text = ship._source(module)
    imported: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            assert not any(name.name.startswith(ship.PACKAGE) for name in node.names)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(ship.PACKAGE):
            of = str(node.module).removeprefix(f"{ship.PACKAGE}.")
            imported |= {f"{of}.{name.name}" for name in node.names} if of in ship.ROOMS else {of}
    assert set(ship._imported(text)) == imported


@of_each(MODULES)
def test_what_it_needs_of_the_standard_library_as_it_begins(module: str) -> None:
    text = ship._source(module)
    needed: set[str] = set()
    for node in ast.parse(text).body:
        if isinstance(node, ast.Import):
            needed |= {name.name for name in node.names}
        if isinstance(node, ast.ImportFrom) and not str(node.module).startswith(("__future__", ship.PACKAGE)):
            needed.add(str(node.module))
    found = set(ship._STANDARD.findall(text))  # also in a program that stands in it as a text
    assert needed <= found
    assert {name.partition(".")[0] for name in found} <= sys.stdlib_module_names
