"""One word per idea: no class and no name of a type stands for two things, and no variable says only that it is one."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import orchestrator

PACKAGE = Path(orchestrator.__file__).parent
TWICE: dict[str, str] = {
    "Path": "as type checkers know it, for programs that are shipped one by one",
}
"""Names that stand twice, each with the reason."""
VAGUE = {"one", "found", "told", "said"}
"""What a variable is not called: the thing has a name, such as process, match, reason, line."""


def _named(tree: ast.Module) -> Iterator[str]:
    """The classes of a module, and the types that it gives a name to (`Line = list[Span]`)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield node.name
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            name = statement.targets[0].id
            if name[:1].isupper() and not name.isupper() and "_" not in name:
                yield name


def test_a_name_of_a_class_stands_for_one_thing() -> None:
    places: dict[str, set[str]] = defaultdict(set)
    for path in sorted(PACKAGE.rglob("*.py")):
        for name in _named(ast.parse(path.read_text())):
            places[name].add(path.relative_to(PACKAGE).as_posix())
    assert {"Survey", "Patch", "StyledLine"} <= set(places)  # it looks at classes and at names of types
    twice = {name: files for name, files in places.items() if len(files) > 1 and name not in TWICE}
    assert twice == {}
    assert all(len(places[name]) > 1 for name in TWICE)


def _bound(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The variables, parameters and functions of a module, with their lines."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name) | ast.FunctionDef(name=name):
                yield node.lineno, name


def test_a_variable_is_called_what_it_is() -> None:
    vague = [
        f"{path.relative_to(PACKAGE).as_posix()}:{line}: {word}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for line, word in _bound(ast.parse(path.read_text()))
        if word in VAGUE
    ]
    assert vague == []


def test_wherever_it_is_bound_a_name_is_looked_at() -> None:
    text = """
def told(said):
    one = [found for found in said]
    for one, (found, other) in said: ...
"""
    bound = [name for _, name in sorted(_bound(ast.parse(text)))]
    assert bound == ["said", "told", "found", "one", "found", "one", "other"]
