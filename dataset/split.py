#!/usr/bin/env python3
"""Which cases are learned from, chosen by and measured on? Writes splits.json from the labels.

`time`: by the month of the report, so that nothing is measured on what is older than what was learned; a case whose month
nobody knows is in none of it. `ground`: leave one out, to measure on a kind that was not learned. `sight` is kept as it
is: which cases the authors of `deploy` had read (`seen`) when it was measured.
"""

from __future__ import annotations

import json
from typing import Any

from dataset.score import HOME, Case, cases

DEV_FROM, TEST_FROM = "2026-06", "2026-08"
"""Months; fixed, so that a case that is added moves no other."""
FILE = HOME / "splits.json"


def part_of(month: str) -> str:
    return "train" if month < DEV_FROM else "dev" if month < TEST_FROM else "test"


def splits(every: list[Case], sight: dict[str, list[str]]) -> dict[str, Any]:
    time: dict[str, list[str]] = {"train": [], "dev": [], "test": []}
    ground: dict[str, list[str]] = {}
    for case in every:
        ground.setdefault(case.label["ground"], []).append(case.id)
        if case.label["reported"]:
            time[part_of(case.label["reported"])].append(case.id)
    return {"time": time, "ground": dict(sorted(ground.items())), "sight": sight}


def main() -> None:
    sight = json.loads(FILE.read_text("utf-8"))["sight"]
    FILE.write_text(json.dumps(splits(cases(), sight), indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
