"""Which texts are shipped for a program: itself and what it imports, dependencies first."""

from __future__ import annotations

import ast
import json
import pkgutil
import subprocess
import sys

import pytest

import orchestrator.on_host
import orchestrator.on_host.programs
from orchestrator.hosts import bootstrap, ship
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
def test_what_describes_itself_needs_no_module_that_describes_it(module: str) -> None:
    for node in ast.walk(ast.parse(ship._source(module))):
        if isinstance(node, ast.ClassDef) and any("dataclass" in ast.dump(by) for by in node.decorator_list):
            assert ast.get_docstring(node), (
                f"{node.name} without a docstring costs each look 5 ms (bootstrap.py)"
            )


@of_each(MODULES)
def test_its_bytecode_is_that_of_its_text(module: str) -> None:
    text = ship._source(module)
    compiled = compile(text, "<module>", "exec")
    assert ship._code(f"{ship.PACKAGE}.{module}", text).co_code == compiled.co_code
    changed = ship._code(f"{ship.PACKAGE}.{module}", text + "\nNEW = 1\n")
    assert "NEW" in changed.co_names


@pytest.fixture(params=["bytecode", "text"])
def one_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bundle that is only of use to a host which takes its modules in this way."""
    whole = ship._parts

    def parts(module: str, without: frozenset[str]) -> tuple[bytes, bytes]:
        texts, codes = whole(module, without)
        if request.param == "bytecode":
            return codes and b"no text", codes
        return texts, texts and b"no bytecode"

    monkeypatch.setattr(ship, "_parts", parts)
    if request.param == "text":
        monkeypatch.setattr(ship, "_MAGIC", b"00000000")  # of another version of Python


@pytest.mark.usefixtures("one_way")
def test_a_host_takes_bytecode_of_its_own_python_and_the_text_of_any_other() -> None:
    asked = {"a": 1}
    alone = subprocess.run(
        bootstrap.interpreter(sys.executable),
        input=ship.bundle("echo", asked, deadline=30), capture_output=True, check=True,
    )  # fmt: skip
    assert json.loads(alone.stdout) == {"value": asked}
    sent = set[str]()
    bundles = [
        ship.further_bundle("echo", asked, deadline=30, token=token, sent=sent) for token in (b"a", b"b")
    ]
    several = subprocess.run(
        bootstrap.interpreter(sys.executable, program=bootstrap.RUNNER),
        input=b"".join(bundles), capture_output=True, check=True,
    )  # fmt: skip
    answer = alone.stdout.decode()
    assert several.stdout.decode() == f"a\n{answer}\na 0\nb\n{answer}\nb 0\n"
    assert bundles[1].startswith(b"0 0 ")  # what was sent before is not sent again
