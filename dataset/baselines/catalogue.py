"""Which logs may be learned from beside the data set's own? Those by which `deploy` is tested.

They lie in `tests/diagnosis/cases`, have no dates, and name their patch in place of a why; `tests/diagnosis/labels.py`
says what a label holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from dataset.baselines.method import Example, text_of
from dataset.score import Case

FOLDER = Path(__file__).resolve().parents[2] / "tests" / "diagnosis" / "cases"


def examples() -> Iterator[Example]:
    for file in sorted(FOLDER.glob("*/*/cases.yaml")):
        for name, label in YAML(typ="safe").load(file).items():
            yield _example(file, name, label)


def _example(file: Path, name: str, label: dict[str, Any]) -> Example:
    remedy = label.get("remedy") or {}
    ways = remedy.get("any_of") or [[]]
    patch = label.get("patch", file.parent.name)
    own = FOLDER / file.parent.parent.name / str(patch)
    other = next(FOLDER.glob(f"*/{patch}"), own)
    failed = label["verdict"] in ("fault", "hang", "unknown_fault")
    return Example(
        text_of(Case(name, file.parent / f"{name}.log", label)),
        label["verdict"],
        label.get("category") or (other.parent.name if failed else None),
        tuple(label.get("cause") or ()),
        tuple(ways[0]),
        remedy.get("automatic") is True,
    )
