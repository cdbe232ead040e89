"""`deploy diagnose FILE|-`: what is the root cause in this log, and what mends it?"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from orchestrator.cli import complete, values

if TYPE_CHECKING:
    from orchestrator.diagnosis.carriers.peel import Wrapping
    from orchestrator.diagnosis.carriers.peeled import Peeled
    from orchestrator.diagnosis.live import Live
    from orchestrator.diagnosis.verdict import Diagnosis
    from orchestrator.engines.protocol import ReadEngine

EXIT_CODES = {"healthy": 0, "starting": 0, "fault": 6, "unknown_fault": 7, "hang": 8}


@click.command(epilog="Example:  ssh gpu7 cat vllm.log | deploy diagnose -")
@click.argument("file", metavar="FILE|-", shell_complete=complete.files)
@click.option(
    "-f", "--follow", is_flag=True, help="go on as the log grows; speak whenever the answer changes"
)
@click.option("--bundle", is_flag=True, help="pack log and diagnosis, without secrets, to hand on")
@click.option("--json", "as_json", is_flag=True, help="print one JSON object")
@click.option(
    "--engine",
    "kind",
    metavar="KIND",
    callback=values.engine,
    help="the engine that wrote it, e.g. vllm; else the log tells",
)
@click.option(
    "--vllm-version",
    "--vllm",
    "usual_version",
    metavar="VERSION",
    callback=values.version,
    help="if the log is vLLM's and does not say",
)
@click.option(
    "--engine-version",
    metavar="VERSION",
    callback=values.version,
    help="the same, whichever engine wrote it",
)
@click.option(
    "--compute-cap",
    metavar="X.Y",
    callback=values.compute_cap,
    help="compute capability of the cards, for instance 12.0",
)
@click.option(
    "--gpus", type=click.IntRange(0, values.MOST_ITEMS), metavar="N", help="how many cards the host has"
)
@click.option(
    "--idle-seconds", type=values.Seconds(least=0), metavar="S", help="how long the log has been silent"
)
@click.option(
    "--patches",
    multiple=True,
    type=click.Path(file_okay=False, exists=True, path_type=Path),
    help="a folder of patches of your own",
)
def diagnose(
    file: str,
    follow: bool,
    bundle: bool,
    as_json: bool,
    kind: str | None,
    usual_version: str | None,
    engine_version: str | None,
    compute_cap: str | None,
    gpus: int | None,
    idle_seconds: float | None,
    patches: tuple[Path, ...],
) -> None:
    """Find the root cause in a launch log; no host needed.

    Exit code: 0 healthy or starting, 6 a known fault, 7 an unknown one, 8 a hang.
    """
    from orchestrator.base import log_file
    from orchestrator.diagnosis import engine
    from orchestrator.diagnosis.carriers.newest_first import is_newest_first
    from orchestrator.diagnosis.carriers.peeled import Peeled, bare
    from orchestrator.patches import catalogue
    from orchestrator.patches.known import Known

    if bundle:
        _require_file(file)
    catalogued = catalogue.load_all(patches)
    context = Known(compute_cap=compute_cap, gpus=gpus, idle_seconds=idle_seconds)

    def known(writer: ReadEngine) -> Known:
        return replace(context, version=engine_version or _version_of(writer, usual_version, file))

    if follow:
        from orchestrator.diagnosis.live import Live

        def live(beginning: bytes) -> tuple[Live, Peeled]:
            writer, layers = _writer(kind, beginning)
            return Live(known(writer), catalogued, writer.log), Peeled(layers)

        diagnosis = _followed(file, live, len(catalogued), as_json)
    else:
        chunks = log_file.chunks(file)
        beginning = next(chunks, b"")
        line_in_file: Callable[[int], int] = _as_it_is
        writer, layers = _writer(kind, beginning)
        if is_newest_first(bare(beginning, layers), writer.log):
            beginning, chunks, line_in_file = _turned(file, beginning, chunks)
            writer, layers = _writer(kind, beginning)
        peeled = Peeled(layers)
        diagnosis = engine.diagnose_log(
            peeled.whole(chain([beginning], chunks)),
            grammar=writer.log,
            known=known(writer),
            patches=catalogued,
        ).renumbered(lambda number: line_in_file(peeled.line_of(number)))
        _require_log(file, bare(beginning, layers), diagnosis)
        _say(diagnosis, file, len(catalogued), as_json)
    if bundle:
        click.echo(f"bundle  {_bundle(file, kind, diagnosis)}", err=True)
    raise click.exceptions.Exit(EXIT_CODES[diagnosis.verdict])


def _writer(kind: str | None, beginning: bytes) -> tuple[ReadEngine, Wrapping]:
    """The engine that wrote a log (the one of that kind, else whose log begins so), and what lies around its lines."""
    from orchestrator.diagnosis import origin
    from orchestrator.diagnosis.carriers import peel
    from orchestrator.diagnosis.carriers.peeled import bare
    from orchestrator.engines import registry

    kinds = [kind] if kind else sorted(registry.kinds(), key=lambda kind: kind != registry.USUAL)
    grammars = [registry.read(each).log for each in kinds]
    layers = peel.learn(beginning, grammars)
    grammar = origin.of(bare(beginning, layers), grammars)
    return registry.read(grammar.kind), layers


def _as_it_is(number: int) -> int:
    return number


def _turned(
    file: str, beginning: bytes, chunks: Iterator[bytes]
) -> tuple[bytes, Iterator[bytes], Callable[[int], int]]:
    """A log that has its newest line first from its other end: beginning, rest, and which line of the file one of it is."""
    from orchestrator.base import log_file
    from orchestrator.diagnosis.carriers.newest_first import MOST_BYTES, Turned
    from orchestrator.report.layout import passage

    held, size = [beginning], len(beginning)
    for chunk in chunks:
        held.append(chunk)
        size += len(chunk)
        if size > MOST_BYTES:
            more = f"is too large to be turned here: tac {file} | deploy diagnose -"
            click.echo(passage(f"warning: {file} has its newest line first, and {more}"), err=True)
            return beginning, chain(held[1:], chunks), _as_it_is
    click.echo(passage(f"note: {file} has its newest line first: it is read from its end"), err=True)
    log = Turned(held)
    return log.whole[: log_file.CHUNK], iter([log.whole[log_file.CHUNK :]]), log.line_of


def _version_of(writer: ReadEngine, usual: str | None, file: str) -> str | None:
    """The version that was given of the usual engine, where that one wrote the log: of another it says nothing."""
    from orchestrator.engines import registry
    from orchestrator.report.layout import passage

    if usual is None or writer.kind == registry.USUAL:
        return usual
    warning = f"warning: {file} is a log of {writer.title}: --vllm-version says nothing of it, --engine-version would"
    click.echo(passage(warning), err=True)
    return None


def _require_log(file: str, beginning: bytes, diagnosis: Diagnosis) -> None:
    """Of a file that no engine wrote there is nothing to say, unless a patch knows what stands in it, or something did fail
    there: what starts an engine may fail before it says a word."""
    from orchestrator.base.errors import UsageError
    from orchestrator.diagnosis import looks
    from orchestrator.engines import registry

    if diagnosis.finding is not None or diagnosis.verdict == "healthy":
        return
    look = looks.of_another_kind(beginning, [registry.read(kind).log for kind in registry.kinds()])
    if look is None or (looks.may_be_an_excerpt(look) and diagnosis.verdict != "starting"):
        return
    subject = "standard input" if file == "-" else file
    raise UsageError(
        "no_engine_log", f"{subject} {look}: no line of it is an engine's, so there is nothing to diagnose"
    )


def _say(diagnosis: Diagnosis, file: str, known: int, as_json: bool) -> None:
    from orchestrator.cli.hints import packing
    from orchestrator.report.choose import write
    from orchestrator.report.diagnosis_text import diagnosis_lines
    from orchestrator.report.json_lines import json_line

    if as_json:
        click.echo(json_line(diagnosis.model_dump(mode="json")))
    else:
        write(diagnosis_lines(diagnosis, file, known=known, packing=packing(file)), sys.stdout)


def _followed(
    file: str, begun: Callable[[bytes], tuple[Live, Peeled]], known: int, as_json: bool
) -> Diagnosis:
    """The diagnosis when the log has ended (standard input) or somebody interrupts; each change is said. `begun` is what
    reads a log that begins so."""
    from orchestrator.base import log_file
    from orchestrator.diagnosis.live import WRITTEN_SECONDS

    idle = 0.0
    (live, peeled), empty = begun(b""), True
    shown = diagnosis = live.now(0.0)

    def look(idle: float) -> None:
        nonlocal shown, diagnosis
        diagnosis = live.now(idle).renumbered(peeled.line_of)
        if diagnosis.answer != shown.answer:
            shown = diagnosis
            _say(diagnosis, file, known, as_json)

    with suppress(KeyboardInterrupt):
        for chunk, idle in log_file.follow(file):
            if chunk and empty:
                (live, peeled), empty = begun(chunk), False
            live.feed(peeled.feed(chunk))
            look(idle)
        look(max(idle, WRITTEN_SECONDS))
    return diagnosis


def _require_file(file: str) -> None:
    from orchestrator.base.errors import UsageError

    if file == "-" or Path(file).is_fifo():
        raise UsageError(
            "no_log_to_pack",
            f"{'standard input' if file == '-' else file} is gone once it was read: there is no log to pack",
        )


def _bundle(file: str, kind: str | None, diagnosis: Diagnosis) -> Path:
    from orchestrator.base import bundle, log_file
    from orchestrator.on_host.secrets.secrets import redact

    documents = {"diagnosis": diagnosis.model_dump(mode="json")}
    with Path(file).open("rb") as log:
        return bundle.write(
            f"diagnose-{redact(Path(file).stem)}",
            log,
            documents,
            log_name=_writer(kind, next(log_file.chunks(file), b""))[0].log_name,
        )
