"""How does a failure look to the person who has to understand it at 3 a.m.?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from orchestrator.engines import registry
from orchestrator.on_host.secrets.secrets import redact
from orchestrator.report.layout import WIDTH, Style, StyledLine, plain, visible, wrapped

if TYPE_CHECKING:
    from orchestrator.diagnosis.engine import Diagnosis
    from orchestrator.remedy.choose import Decision

INDENT = 6
HEAD = 12
LONGEST_CAUSE = 400
"""Characters of a root cause that are shown, six or seven lines; all of it is in the log and in --json."""
LONGEST_DIFF = 24
"""Changed lines that are shown; `deploy diff` shows all of them."""


def finding(
    diagnosis: Diagnosis,
    decision: Decision,
    *,
    launch: int,
    log_name: str,
    known: int,
    bundle: str | None = None,
    host: str = "",
) -> dict[str, Any]:
    """A failure in words, for the panel and for programs: cause, where, host, why, remedy, cost, ruled_out, bundle.

    `log_name` is what the log is called, `known` how many patches were asked, `host` what the host knows beside the log; a word that does not apply is "".
    """
    change = decision.change
    recognised = diagnosis.finding
    words = {
        "cause": "",
        "where": "",
        "host": host if not (diagnosis.root_cause and diagnosis.root_cause.text == host) else "",
        "why": "",
        "remedy": "",
        "cost": "",
        "ruled_out": "",
        "bundle": bundle or "",
    }
    if root := diagnosis.root_cause:
        name = f"{root.exception}: " if root.exception and not root.text.startswith(root.exception) else ""
        words["cause"] = redact(f"{name}{root.text}")
        words["where"] = f"{root.process or 'the launcher'}, launch {launch}, {log_name}:{root.line}"
        if others := len(diagnosis.folded.processes):
            words["where"] += f", same in {others + 1}"
    if recognised is not None:
        likely = "likely: " if recognised.confidence == "likely" else ""
        words["why"] = likely + " ".join((recognised.explanation or recognised.title).split())
    elif decision.pending:
        words["why"] = "not known; it may well not come again, and nothing was changed"
        words["remedy"] = decision.reason
    else:
        words["why"] = f"{'not known' if root else 'the log names no fault'}; nothing was changed"
        single = "1 patch was asked and does not recognise it"
        words["ruled_out"] = single if known == 1 else f"{known} patches were asked and none recognises it"
        if diagnosis.folded.lines:
            words["ruled_out"] += (
                f"; {diagnosis.folded.lines} lines of the log only repeat it or follow from it"
            )
    if change is not None:
        automatic = "automatic, " if not change.consents else ""
        words["remedy"] = f"{change.patch.id}: {change.action} ({automatic}{change.undoing})"
        words["cost"] = decision.cost
    elif recognised is not None:
        advice = ". ".join(text for text in (decision.reason, decision.advice) if text)
        words["remedy"] = advice if decision.pending else f"none: {advice}"
    return words


def panel_text(words: Mapping[str, Any], diff: str) -> str:
    return "\n".join(plain(line) for line in panel_lines(words, diff))


def panel_lines(words: Mapping[str, Any], diff: str) -> list[StyledLine]:
    """Root cause, why, remedy with its diff, cost: fits on a screen and can be pasted, so always 80 columns."""
    lines: list[StyledLine] = [[]]
    if cause := words["cause"]:
        lines += _row("root cause", condensed(cause), "bad") + _right(words["where"])
    lines += _row("host", words.get("host", "")) + _row("why", words["why"])
    lines += _row("remedy", words["remedy"], "strong")
    lines += [[(" " * (INDENT + HEAD), ""), span] for span in _diff_lines(diff)]
    for head in ("cost", "ruled out", "bundle"):
        lines += _row(head, words[head.replace(" ", "_")])
    return [*lines, []]


def condensed(cause: str) -> str:
    """A root cause short enough to be read: what decides it stays, what is left out is dots."""
    cause = redact(cause)  # before it is cut: half a secret has no form
    if len(cause) <= LONGEST_CAUSE:
        return cause
    for kind in registry.kinds():
        if brief := registry.get(kind).log.brief(cause):
            return brief
    tail = cause[-LONGEST_CAUSE // 3 :].split(" ", 1)[-1]
    return f"{cause[: LONGEST_CAUSE - len(tail)].rsplit(' ', 1)[0]} ... {tail}"


def _row(head: str, text: str, role: Style = "") -> list[StyledLine]:
    if not text:
        return []
    return wrapped([(" " * INDENT + f"{head:<{HEAD}}", "dim")], " ".join(text.split()), WIDTH, role=role)


def _right(text: str) -> list[StyledLine]:
    return [[(f"{visible(text):>{WIDTH}}", "dim")]] if text else []


def _diff_lines(diff: str) -> Iterator[tuple[str, Style]]:
    """Each file's name and its changed lines; what surrounds them is for `deploy diff`."""
    room = WIDTH - INDENT - HEAD
    shown = [line for line in diff.splitlines() if line[:1] in "+-" and not line.startswith("--- ")]
    for line in shown[:LONGEST_DIFF]:
        if line.startswith("+++ "):
            yield line[4:].removeprefix("b/"), "strong"
            continue
        text = visible(redact(line))
        cut = text if len(text) <= room else text[: room - 4] + " ..."
        yield cut, "added" if line[0] == "+" else "removed"
    if len(shown) > LONGEST_DIFF:
        yield f"... {len(shown) - LONGEST_DIFF} more lines: deploy diff", "dim"
