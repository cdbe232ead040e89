"""`deploy diagnose FILE|-`: what is the root cause in this log, and what mends it?"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from orchestrator.cli import complete

if TYPE_CHECKING:
    from orchestrator.diagnosis.verdict import Diagnosis, ProposedAction
    from orchestrator.report.layout import Line, Role

EXIT_CODES = {"healthy": 0, "starting": 0, "fault": 6, "unknown_fault": 7, "hang": 8}
HEADLINES = {
    "healthy": ("healthy", "the server came up and nothing failed since"),
    "starting": ("starting", "nothing failed so far"),
    "fault": ("failed", "the cause is known"),
    "unknown_fault": ("failed", "no patch knows the cause"),
    "hang": ("hangs", "silent for longer than this phase takes"),
}
_CHUNK = 256 * 1024


@click.command(epilog="Example:  ssh gpu7 cat vllm.log | deploy diagnose -")
@click.argument("file", metavar="FILE|-", shell_complete=complete.files)
@click.option("--json", "as_json", is_flag=True, help="print one JSON object")
@click.option("--vllm-version", "--vllm", metavar="VERSION", help="if the log does not say")
@click.option("--compute-cap", metavar="X.Y", help="compute capability of the cards, for instance 12.0")
@click.option("--gpus", type=click.IntRange(min=0), metavar="N", help="how many cards the host has")
@click.option(
    "--idle-seconds", type=click.FloatRange(min=0), metavar="S", help="how long the log has been silent"
)
@click.option(
    "--patches",
    multiple=True,
    type=click.Path(file_okay=False, exists=True, path_type=Path),
    help="a folder of patches of your own",
)
def diagnose(
    file: str,
    as_json: bool,
    vllm_version: str | None,
    compute_cap: str | None,
    gpus: int | None,
    idle_seconds: float | None,
    patches: tuple[Path, ...],
) -> None:
    """Find the root cause in a launch log; no host needed.

    Exit code: 0 healthy or starting, 6 a known fault, 7 an unknown one, 8 a hang.
    """
    from orchestrator.diagnosis import engine, lines
    from orchestrator.remedy import catalogue
    from orchestrator.report.choose import write

    known = catalogue.load_all(patches)
    context = engine.Context(vllm_version, compute_cap, gpus, idle_seconds)
    found = engine.diagnose(lines.cut(_chunks(file)), context=context, patches=known)
    if as_json:
        click.echo(json.dumps(found.model_dump(mode="json"), ensure_ascii=False))
    else:
        write(shown(found, file), sys.stdout)
    sys.exit(EXIT_CODES[found.verdict])


def _chunks(file: str) -> Iterator[bytes]:
    from orchestrator.errors import UsageError

    if file == "-":
        yield from _read(sys.stdin.buffer)
        return
    try:
        with Path(file).open("rb") as source:
            yield from _read(source)
    except OSError as error:
        what = "a folder, not a log file" if isinstance(error, IsADirectoryError) else error.strerror
        raise UsageError("unreadable_log", f"{file}: {what}", next_command="deploy diagnose FILE") from error


def _read(source: BinaryIO) -> Iterator[bytes]:
    return iter(partial(source.read, _CHUNK), b"")


def shown(found: Diagnosis, file: str) -> list[Line]:
    """The diagnosis for a person, at most 80 columns wide."""
    verdict, words = HEADLINES[found.verdict]
    out = _entry(verdict, words, role="bad" if EXIT_CODES[found.verdict] else "good")
    if found.root_cause:
        where = ", ".join(filter(None, [found.root_cause.process, f"{file}:{found.root_cause.line}"]))
        same = f", same in {len(found.folded.processes)} more" if found.folded.processes else ""
        out += _entry("root cause", found.root_cause.text, limit=8, role="bad") + _entry("", where + same)
    if found.finding:
        certain = "" if found.finding.confidence == "certain" else " (likely)"
        out += _entry("why", found.finding.explanation or found.finding.title)
        out += _entry("patch", f"{found.finding.patch}{certain}: {found.finding.title}")
    if found.remedy:
        how = "automatic, reversible" if found.remedy.automatic else "yours to decide"
        for action in found.remedy.actions:
            out += _entry("remedy", f"{_sentence(action)} ({how})", role="strong")
        cost = found.remedy.ways[0].cost if found.remedy.ways else ""
        out += _entry("cost", cost) if cost else []
        for advice in found.remedy.advice:
            out += _entry("advice", advice)
    shown_already = found.root_cause.line if found.root_cause else None
    for evidence in found.evidence:
        if evidence.line != shown_already:
            out += _entry("evidence", f"line {evidence.line}: {evidence.text}", limit=2)
    if found.verdict == "unknown_fault":
        out += _entry("next", "no remedy is known; change nothing on a guess")
    return out


def _entry(label: str, text: str, *, limit: int | None = None, role: Role = "") -> list[Line]:
    from orchestrator.report.layout import WIDTH, wrapped

    lines = wrapped([(f"{label:<12} ", "dim")], " ".join(text.split()), WIDTH, role=role)
    if limit is not None and len(lines) > limit:
        kept, last = lines[:limit], lines[limit - 1]
        return [*kept[:-1], [*last[:-1], (f"{last[-1][0][: WIDTH - 17]} ...", role)]]
    return lines


def _sentence(action: ProposedAction) -> str:
    if action.kind == "config":
        what = (
            f"remove {action.path}"
            if action.op == "remove"
            else f"set {action.path} to {json.dumps(action.value)}"
        )
        return f"in {action.file}, {what}"
    if action.kind in ("flag", "env"):
        return f"drop {action.name}" if action.op == "remove" else f"{action.name}={action.value}"
    verbs = {"cleanup": "clean up", "redownload": "download again:", "install": "install"}
    return f"{verbs[action.kind]} {action.name}"
