"""What must not stand in a diagnosis as a person reads it, on a terminal of 80 columns."""

from __future__ import annotations

import re

from orchestrator.cli.hints import packing
from orchestrator.diagnosis.verdict import Diagnosis
from orchestrator.report.diagnosis_text import diagnosis_lines
from orchestrator.report.layout import plain

RULES = {
    "an evidence that says nothing": re.compile(r"^evidence +line \d+: (?:\w+=(?:auto|None)?)?$", re.MULTILINE),
    "a switch with a value": re.compile(r"^remedy +--[\w-]+=true\b", re.MULTILINE | re.IGNORECASE),
    "a period twice": re.compile(r"(?<!\.)\.\.(?!\.|/)"),
    "dots twice": re.compile(r"\.\.\. \.\.\."),
    "a word of the catalogue": re.compile(r"^remedy +(?:clean up|download again:)", re.MULTILINE),
    "a label without text": re.compile(r"^[a-z ]{1,12} *$", re.MULTILINE),
    "a next step without a verb": re.compile(r"^next {9}(?!No remedy is known: change |See where |The line that says why )", re.MULTILINE),
}  # fmt: skip
SWALLOWED = re.compile(
    r"\n(?:srun|slurmstepd|mpirun): |\n\S+ exited with code \d|\n\S+\.service: |\nmake: \*\*\*"
)
"""Words of a launcher in an exception's text."""
FILE = "/home/ops/logs/2026-02-20/gpu07.cluster.example/a-folder-with-a-long-name/vllm.log"


def oddities(found: Diagnosis) -> list[str]:
    """What of it stands in this diagnosis."""
    lines = [plain(line) for line in diagnosis_lines(found, FILE, known=300, packing=packing(FILE))]
    text = "\n".join(lines)
    wrong = [f"{name}: {match[0]!r}" for name, rule in RULES.items() if (match := rule.search(text))]
    wrong += [f"wider than 80 columns: {line!r}" for line in lines if len(line) > 80]
    if found.root_cause and SWALLOWED.search(found.root_cause.text):
        wrong.append("the root cause goes on with what its launcher says")
    return wrong
