"""`deploy logs PLAYBOOK --host H`: what does the last launch say?"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

from orchestrator.cli import values
from orchestrator.cli.options import SharedOptions, shared_options
from orchestrator.cli.warning import warn

if TYPE_CHECKING:
    from orchestrator.diagnosis.lines import Line
    from orchestrator.engines.log_grammar import LogGrammar
    from orchestrator.job import Job
    from orchestrator.loop.deployment import Deployment
    from orchestrator.loop.reading import Explained

WORDS = {0: "read", 6: "failed, cause known", 7: "failed, cause unknown", 8: "hangs"}
"""What the exit codes mean: of --explain those of `deploy diagnose`."""


@dataclass(frozen=True)
class Explanation:
    """A diagnosis that is still to be shown, and how many patches were asked."""

    explained: Explained
    known: int


@click.command(epilog="Example:  deploy logs kimi-k2.5 --host 10.1.230.174 -f")
@shared_options
@click.option("-f", "--follow", is_flag=True, help="go on as the log grows")
@click.option(
    "-n",
    "--lines",
    type=click.IntRange(0, values.MOST_ITEMS),
    default=None,
    metavar="N",
    help="only the last N lines",
)
@click.option(
    "--launch",
    type=click.IntRange(1, values.MOST_ITEMS),
    metavar="N",
    help="of this launch instead of the last",
)
@click.option("--raw", is_flag=True, help="byte for byte on a terminal too")
@click.option("--explain", is_flag=True, help="say what it comes to: root cause, why, remedy")
def logs(
    options: SharedOptions, follow: bool, lines: int | None, launch: int | None, raw: bool, explain: bool
) -> int:
    """Print the log of the last launch; with -f as it grows, with --explain what is wrong with it.

    On a terminal levels are coloured and what several ranks say is shown once ("same in 8"). Into a file or a
    pipe, and with --raw, every byte is as the engine wrote it. With --json each line is an object.
    Of hosts that serve one model together all lines are shown in the order of their times, with their host in front, and
    --explain reads all of their logs for the one cause.
    """
    from orchestrator.base.errors import UsageError
    from orchestrator.cli.session import on_each_host
    from orchestrator.report.alike import in_order
    from orchestrator.report.choose import on_terminal

    if explain and (follow or lines is not None or raw):
        raise UsageError(
            "explain_alone",
            "--explain reads the whole log: it goes with --launch alone",
        )
    as_written = raw or not on_terminal(sys.stdout)
    explanations: dict[str, Explanation] = {}

    def work(deployment: Deployment) -> int:
        if explain:
            return _explained(deployment, launch, explanations, as_json=options.json)
        if deployment.readings[0].job.group:
            from orchestrator.loop import group_reading

            each = group_reading.logs(
                deployment.readings, deployment.absent, launch=launch, lines=lines, follow=follow
            )
            job = deployment.readings[0].job
            _together(each, job, follow=follow, as_json=options.json, as_written=as_written)
            return 0
        chunks = deployment.reading.logs(launch=launch, lines=lines, follow=follow)
        grammar = deployment.reading.job.playbook.kind.log
        if options.json:
            _objects(chunks, deployment.reading.job, grammar)
        elif as_written:
            _bytes(chunks)
        else:
            _folded(chunks, grammar)
        return 0

    if follow:  # none of them ends by itself
        options = replace(options, breadth=replace(options.breadth, at_once=len(options.hosts)))
    code = on_each_host(options, work, report_to=sys.stderr, whole=True, as_far_as_reached=True, words=WORDS)
    _show(in_order(explanations, options.hosts))
    return code


def _together(
    logs: Mapping[str, Iterator[bytes]], job: Job, *, follow: bool, as_json: bool, as_written: bool
) -> None:
    """What several hosts' logs say, each line with its host."""
    from orchestrator.base.errors import DeployError
    from orchestrator.report.choose import write
    from orchestrator.report.layout import prefix_of
    from orchestrator.report.log_lines import shown
    from orchestrator.report.logs_together import as_they_come, in_order, lines_of

    each = {host: lines_of(host, chunks, job.playbook.kind.log) for host, chunks in logs.items()}
    wide = max(len(prefix_of(host, True)) for host in logs)
    for line in as_they_come(each) if follow else in_order(each):
        if isinstance(line, DeployError):
            warn(line.message)
            continue
        prefix = f"{prefix_of(line.host, True):<{wide}}"
        if as_json:
            click.echo(_object(line.host, job.playbook.instance, line.line, line.raw))
        elif as_written:
            _bytes(iter([prefix.encode() + line.raw + b"\n"]))
        else:
            write([[(prefix, "dim"), *shown(line.line)]], sys.stdout)


def _explained(
    deployment: Deployment, launch: int | None, explanations: dict[str, Explanation], *, as_json: bool
) -> int:
    """The diagnosis, kept in `explanations` for a person, of hosts that serve one model together printed as one; the exit code is that of
    `deploy diagnose`."""
    from orchestrator.cli.diagnose import EXIT_CODES
    from orchestrator.report.json_lines import json_line

    job = deployment.readings[0].job
    if job.group:
        return _explained_together(deployment, launch, as_json=as_json)
    explained = deployment.reading.explain(launch=launch)
    diagnosis = explained.diagnosis
    if as_json:
        click.echo(json_line({"host": job.host.name, **diagnosis.model_dump(mode="json")}))
    else:
        explanations[job.host.name] = Explanation(explained, len(job.wishes.patches))
    return EXIT_CODES[diagnosis.verdict]


def _explained_together(deployment: Deployment, launch: int | None, *, as_json: bool) -> int:
    from orchestrator.cli.diagnose import EXIT_CODES
    from orchestrator.cli.host_logs import HostLog, say, say_json
    from orchestrator.loop import group_reading

    each, joint = group_reading.explain(deployment.readings, deployment.absent, launch=launch)
    logs = [HostLog(host, explained.path) for host, explained in each.items()]
    diagnoses = [explained.diagnosis for explained in each.values()]
    if as_json:
        say_json(logs, diagnoses, joint)
    else:
        say(logs, diagnoses, joint, len(deployment.readings[0].job.wishes.patches))
    return EXIT_CODES[joint.verdict]


def _show(explanations: Mapping[str, Explanation]) -> None:
    """The diagnoses of hosts that serve each for itself, those that are the same once."""
    from orchestrator.cli.hints import for_group, packing
    from orchestrator.report.alike import alike, named
    from orchestrator.report.choose import write
    from orchestrator.report.diagnosis_text import diagnosis_lines, same

    groups = alike(explanations, lambda each: same(each.explained.diagnosis))
    for number, (hosts, each) in enumerate(groups):
        path = each.explained.path
        others = f"; the same on {named(hosts[1:])}" if len(hosts) > 1 else ""
        whose = [hosts[0] + others] if len(explanations) > 1 else []
        if group := each.explained.part_of:
            whose.append(f"serves one model with others; {for_group(group)} reads the logs of all of them")
        lines = diagnosis_lines(
            each.explained.diagnosis, path, known=each.known, packing=packing(path), hosts=whose
        )
        write([[], *lines] if number else lines, sys.stdout)


def _bytes(chunks: Iterator[bytes]) -> None:
    for chunk in chunks:
        sys.stdout.buffer.write(chunk)
        sys.stdout.buffer.flush()


def _objects(chunks: Iterator[bytes], job: Job, grammar: LogGrammar) -> None:
    """{"event": "log", "host", "instance", "process", "level", "line"}, one a line; bytes that are not UTF-8 are replaced."""
    from orchestrator.diagnosis.lines import cut, parse

    for number, raw in enumerate(cut(chunks), start=1):
        click.echo(_object(job.host.name, job.playbook.instance, parse(raw, number, grammar), raw))


def _object(host: str, instance: str, line: Line, raw: bytes) -> str:
    text = raw.decode("utf-8", "replace").rstrip("\r\n")
    whose = {"event": "log", "host": host, "instance": instance}
    value = {**whose, "process": line.process, "level": line.level, "line": text}
    return json.dumps(value).replace("\x7f", "\\u007f")


def _folded(chunks: Iterator[bytes], grammar: LogGrammar) -> None:
    """A clock of its own lets go of held lines, for the log may be silent."""
    from orchestrator.report.choose import write
    from orchestrator.report.log_lines import HOLD_SECONDS, LogLines
    from orchestrator.report.ticker import Ticker

    log = LogLines(grammar)
    lock = threading.Lock()

    def due() -> None:
        with lock:
            write(log.due(), sys.stdout)

    ticker = Ticker(due, HOLD_SECONDS / 4)
    ticker.start()
    try:
        for chunk in chunks:
            with lock:
                write(log.take(chunk), sys.stdout)
    finally:
        ticker.stop()
        with lock:
            write(log.end(), sys.stdout)
