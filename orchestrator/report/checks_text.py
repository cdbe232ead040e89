"""How do the checks of a host look to a person?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from orchestrator.checks.check import Check, Grade
from orchestrator.report.layout import Style, StyledLine, visible, wrapped

SIGNS: Mapping[Grade, tuple[str, Style]] = {
    "pass": ("ok", "good"),
    "warn": ("warn", "warn"),
    "fail": ("FAIL", "bad"),
    "unknown": ("?", "dim"),
}
WORDS: Mapping[Grade, str] = {"fail": "fail", "warn": "warn", "unknown": "not known", "pass": "pass"}
SUBJECT = 13


def check_lines(
    host: str, checks: Sequence[Check], width: int, shown: Collection[Grade] = tuple(SIGNS)
) -> list[StyledLine]:
    """The count, then a line a check whose grade is `shown`, and below it the command that mends it."""
    counts = Counter(check.verdict for check in checks)
    summary = ", ".join(f"{counts[verdict]} {word}" for verdict, word in WORDS.items() if counts[verdict])
    lines: list[StyledLine] = [[(visible(host), "strong"), (f": {summary or 'nothing checked'}", "")]]
    for check in (check for check in checks if check.verdict in shown):
        sign, role = SIGNS[check.verdict]
        head: StyledLine = [(f"  {sign:<4}", role), (f"  {check.subject:<{SUBJECT}}", "strong")]
        lines += wrapped(head, check.sentence, width)
        if check.mend:
            lines.append([(f"{'':8}{visible(check.mend)}", "link")])
    return lines
