"""One word per idea: no class and no name of a type stands for two things."""

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
