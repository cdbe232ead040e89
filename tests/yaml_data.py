"""What does a data file of the tests say?

There are hundreds of them, and every worker reads most: libyaml does in 0.3 s what ruamel.yaml's Python does in 2.2. The program reads
YAML 1.2 and this is 1.1, where a bare `on`, `no` or `010` is no text: what is meant as text is quoted there.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Not the last of two that have one name: the case before it would be tested no more."""
        names = [str(name.value) for name, _ in node.value]
        if len({*names}) != len(names):
            raise yaml.constructor.ConstructorError(problem="a key twice", problem_mark=node.start_mark)
        mapping: dict[Any, Any] = super().construct_mapping(node, deep)
        return mapping


def load(path: Path) -> Any:
    return yaml.load(path.read_bytes(), Loader=_Loader)
