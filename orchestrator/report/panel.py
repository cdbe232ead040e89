"""How does a failure look to the person who has to understand it at 3 a.m.?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
    hosts: Sequence[str] = (),
) -> dict[str, Any]:
    """A failure in words, for the panel and for programs: cause, where, host, hosts, why, would_tell, remedy, cost, ruled_out,
    bundle.

    `log_name` is what the log is called, `known` how many patches were asked, `host` what the host knows beside the log, `hosts` what each of
    a group has to do with it, in sentences; a word that does not apply is "".
    """
    root = diagnosis.root_cause
    words: dict[str, Any] = {
        "cause": "",
        "where": "",
        "host": host if not (root and root.text == host) else "",
        "hosts": list(hosts),
        "why": "",
        "would_tell": "",
        "remedy": "",
        "cost": "",
        "ruled_out": "",
        "bundle": bundle or "",
    }
    if root:
        name = f"{root.exception}: " if root.exception and not root.text.startswith(root.exception) else ""
        words["cause"] = redact(f"{name}{root.text}")
        words["where"] = f"{root.process or 'the launcher'}, launch {launch}, {log_name}:{root.line}"
        if others := len(diagnosis.folded.processes):
            words["where"] += f", same in {others + 1}"
    if diagnosis.finding is not None:
        likely = "likely: " if diagnosis.finding.confidence == "likely" else ""
        explanation = diagnosis.finding.explanation or diagnosis.finding.title
        words["why"] = likely + " ".join(explanation.split())
        words["would_tell"] = "; ".join(diagnosis.finding.tells)
    elif decision.pending:
        words["why"] = "not known; it may well not come again, and nothing was changed"
        words["remedy"] = decision.reason
    else:
        words["why"] = f"{'not known' if root else 'the log names no fault'}; nothing was changed"
        words["ruled_out"] = _ruled_out(diagnosis, known)
    return {**words, **_remedy(diagnosis, decision)}


def _ruled_out(diagnosis: Diagnosis, known: int) -> str:
    single = "1 patch was asked and does not recognise it"
    count = single if known == 1 else f"{known} patches were asked and none recognises it"
    lines = diagnosis.folded.lines
    return f"{count}; {lines} lines of the log only repeat it or follow from it" if lines else count


def _remedy(diagnosis: Diagnosis, decision: Decision) -> dict[str, str]:
    """What is done about it and what that costs, or what a person can do; nothing for a failure that nobody knows."""
    if (change := decision.change) is not None:
        automatic = "automatic, " if not change.consents else ""
        remedy = f"{change.patch.id}: {change.action} ({automatic}{change.undoing})"
        return {"remedy": remedy, "cost": decision.cost}
    if diagnosis.finding is None:
        return {}
    advice = ". ".join(text for text in (decision.reason, decision.advice) if text)
    return {"remedy": advice if decision.pending else f"none: {advice}"}


def panel_text(words: Mapping[str, Any], diff: str) -> str:
    return "\n".join(plain(line) for line in panel_lines(words, diff))


def panel_lines(words: Mapping[str, Any], diff: str) -> list[StyledLine]:
    """Root cause, why, remedy with its diff, cost: fits on a screen and can be pasted, so always 80 columns."""
    lines: list[StyledLine] = [[]]
    if cause := words["cause"]:
        lines += _row("root cause", condensed(cause), "bad") + _right(words["where"])
    lines += _row("host", words.get("host", ""))
    for number, sentence in enumerate(words.get("hosts", ())):
        lines += _row("" if number else "hosts", sentence)
    lines += _row("why", words["why"])
    lines += _row("would tell", words.get("would_tell", "")) + _row("remedy", words["remedy"], "strong")
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
        if brief := registry.read(kind).log.brief(cause):
            return brief
    from orchestrator.diagnosis.own_words import by_a_compiler  # a plan without a failure reads no log

    if decides := by_a_compiler(cause):
        cause = f"{cause.splitlines()[0]} {decides}"
        if len(cause) <= LONGEST_CAUSE:
            return cause
    tail = cause[-LONGEST_CAUSE // 3 :].split(" ", 1)[-1].lstrip(". ")
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
