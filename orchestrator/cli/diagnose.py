"""`deploy diagnose FILE...|-`: what is the root cause in this log, or those of one launch, and what mends it?"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from orchestrator.cli import complete, values
from orchestrator.cli.warning import warn

if TYPE_CHECKING:
    from orchestrator.diagnosis.verdict import Diagnosis
    from orchestrator.engines.protocol import ReadEngine
    from orchestrator.patches.known import Known
    from orchestrator.patches.patch import Patch

EXIT_CODES = {"healthy": 0, "starting": 0, "fault": 6, "unknown_fault": 7, "hang": 8}


@click.command(epilog="Example:  ssh gpu7 cat vllm.log | deploy diagnose -")
@click.argument("files", metavar="FILE...|-", nargs=-1, required=True, shell_complete=complete.files)
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
    files: tuple[str, ...],
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

    Several FILEs, or a folder of them, are the logs of the hosts of one launch, and are read together: which host
    has the cause, and what the others only say because of it. A host is called as its file is.

    Exit code: 0 healthy or starting, 6 a known fault, 7 an unknown one, 8 a hang.
    """
    from orchestrator.cli import host_logs
    from orchestrator.cli.log_reading import read, require_log
    from orchestrator.patches import catalogue
    from orchestrator.patches.known import Known

    logs = host_logs.of(files)
    if len(logs) > 1:
        host_logs.require_whole(files, follow=follow)
    file = logs[0].file
    for each in logs if bundle else ():
        _require_file(each.file)
    catalogued = catalogue.load_all(patches)
    context = Known(compute_cap=compute_cap, gpus=gpus, idle_seconds=idle_seconds)

    def known(writer: ReadEngine, file: str) -> Known:
        return replace(context, version=engine_version or _version_of(writer, usual_version, file))

    if len(logs) > 1:
        verdict = host_logs.tell(logs, kind, known, catalogued, as_json=as_json, bundle=bundle)
        raise click.exceptions.Exit(EXIT_CODES[verdict])
    if follow:
        diagnosis = _followed(file, kind, known, catalogued, as_json)
    else:
        log = read(file, kind, known, catalogued)
        require_log(log)
        diagnosis = log.diagnosis
        _say(diagnosis, file, len(catalogued), as_json)
    if bundle:
        click.echo(f"bundle  {_bundle(file, kind, diagnosis)}", err=True)
    raise click.exceptions.Exit(EXIT_CODES[diagnosis.verdict])


def _version_of(writer: ReadEngine, usual: str | None, file: str) -> str | None:
    """The version that was given of the usual engine, where that one wrote the log: of another it says nothing."""
    from orchestrator.engines import registry

    if usual is None or writer.kind == registry.USUAL:
        return usual
    warn(f"{file} is a log of {writer.title}: --vllm-version says nothing of it, --engine-version would")
    return None


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
    file: str,
    kind: str | None,
    known: Callable[[ReadEngine, str], Known],
    patches: Sequence[Patch],
    as_json: bool,
) -> Diagnosis:
    """The diagnosis when the log has ended (standard input) or somebody interrupts; each change is said."""
    from orchestrator.base import log_file
    from orchestrator.cli.log_reading import writer_of
    from orchestrator.diagnosis.carriers.peeled import Peeled
    from orchestrator.diagnosis.live import WRITTEN_SECONDS, Live

    def begun(beginning: bytes) -> tuple[Live, Peeled]:
        writer, layers = writer_of(kind, beginning)
        return Live(known(writer, file), patches, writer.log), Peeled(layers)

    idle = 0.0
    (live, peeled), empty = begun(b""), True
    shown = diagnosis = live.now(0.0)

    def look(idle: float) -> None:
        nonlocal shown, diagnosis
        diagnosis = live.now(idle).renumbered(peeled.line_of)
        if diagnosis.answer != shown.answer:
            shown = diagnosis
            _say(diagnosis, file, len(patches), as_json)

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
    from orchestrator.cli.log_reading import writer_of
    from orchestrator.on_host.secrets.secrets import redact

    documents = {"diagnosis": diagnosis.model_dump(mode="json")}
    log_name = writer_of(kind, next(log_file.chunks(file), b""))[0].log_name
    with Path(file).open("rb") as log:
        part = bundle.Contents(log, documents, log_name=log_name)
        return bundle.write(f"diagnose-{redact(Path(file).stem)}", part)
