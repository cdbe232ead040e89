"""How is the log of a launch read from a file to its diagnosis, whatever carried it?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import click

from orchestrator.cli.warning import warn

if TYPE_CHECKING:
    from orchestrator.diagnosis.carriers.peel import Wrapping
    from orchestrator.diagnosis.verdict import Diagnosis
    from orchestrator.engines.protocol import ReadEngine
    from orchestrator.patches.known import Known
    from orchestrator.patches.patch import Patch


@dataclass(frozen=True)
class ReadLog:
    """A log that was read: the engine that wrote it, its beginning without what lay around its lines, and its diagnosis."""

    file: str
    writer: ReadEngine
    beginning: bytes
    diagnosis: Diagnosis


def read(
    file: str, kind: str | None, known: Callable[[ReadEngine, str], Known], patches: Sequence[Patch]
) -> ReadLog:
    """The log in a file, or on standard input ("-"); of the engine of that `kind`, where somebody said it."""
    from orchestrator.base import log_file
    from orchestrator.diagnosis import engine
    from orchestrator.diagnosis.carriers.newest_first import is_newest_first
    from orchestrator.diagnosis.carriers.peeled import Peeled, bare

    chunks = log_file.chunks(file)
    beginning = next(chunks, b"")
    line_in_file: Callable[[int], int] = _as_it_is
    writer, layers = writer_of(kind, beginning)
    if is_newest_first(bare(beginning, layers), writer.log):
        beginning, chunks, line_in_file = _turned(file, beginning, chunks)
        writer, layers = writer_of(kind, beginning)
    peeled = Peeled(layers)
    diagnosis = engine.diagnose_log(
        peeled.whole(chain([beginning], chunks)),
        grammar=writer.log,
        known=known(writer, file),
        patches=patches,
    ).renumbered(lambda number: line_in_file(peeled.line_of(number)))
    return ReadLog(file, writer, bare(beginning, layers), diagnosis)


def require_log(log: ReadLog) -> None:
    """Of a file that no engine wrote there is nothing to say, unless a patch knows what stands in it, or something did fail
    there: what starts an engine may fail before it says a word. Raises UsageError("no_engine_log")."""
    from orchestrator.base.errors import UsageError
    from orchestrator.diagnosis import looks
    from orchestrator.engines import registry

    diagnosis = log.diagnosis
    if diagnosis.finding is not None or diagnosis.verdict == "healthy":
        return
    look = looks.of_another_kind(log.beginning, [registry.read(kind).log for kind in registry.kinds()])
    if look is None or (looks.may_be_an_excerpt(look) and diagnosis.verdict != "starting"):
        return
    subject = "standard input" if log.file == "-" else log.file
    raise UsageError(
        "no_engine_log", f"{subject} {look}: no line of it is an engine's, so there is nothing to diagnose"
    )


def writer_of(kind: str | None, beginning: bytes) -> tuple[ReadEngine, Wrapping]:
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
            warn(f"{file} has its newest line first, and {more}")
            return beginning, chain(held[1:], chunks), _as_it_is
    click.echo(passage(f"note: {file} has its newest line first: it is read from its end"), err=True)
    log = Turned(held)
    return log.whole[: log_file.CHUNK], iter([log.whole[log_file.CHUNK :]]), log.line_of
