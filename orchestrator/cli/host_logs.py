"""Which files are the logs of the hosts of one launch, and what do they come to together?"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from orchestrator.base.errors import UsageError
from orchestrator.cli.warning import warn

if TYPE_CHECKING:
    from orchestrator.cli.log_reading import ReadLog
    from orchestrator.diagnosis.across import JointDiagnosis
    from orchestrator.diagnosis.verdict import Diagnosis, Verdict
    from orchestrator.engines.protocol import ReadEngine
    from orchestrator.patches.known import Known
    from orchestrator.patches.patch import Patch

FAILED = ("fault", "unknown_fault")
_IN_FOLDER = ("*.log", "*/*.log")
"""Where the logs of a folder lie: in it, or in a folder of each host."""


@dataclass(frozen=True)
class HostLog:
    """A host, as it is called, and the file of its log."""

    host: str
    file: str


def of(files: Sequence[str]) -> tuple[HostLog, ...]:
    """The logs that are named, by files or by folders of them, each once; beside others a file without a byte is told and left out.
    Raises UsageError("unreadable_log")."""
    paths = list(dict.fromkeys(path for file in files for path in _within(file)))
    empty = [path for path in paths if Path(path).is_file() and Path(path).stat().st_size == 0]
    if 0 < len(empty) < len(paths):
        for path in empty:
            warn(f"{path} is empty: it says nothing, and is left out")
        paths = [path for path in paths if path not in empty]
    return tuple(HostLog(host, file) for host, file in zip(_hosts(paths), paths, strict=True))


def _within(file: str) -> list[str]:
    folder = Path(file)
    if file == "-" or not folder.is_dir():
        return [file]
    for pattern in _IN_FOLDER:
        if logs := sorted(str(path) for path in folder.glob(pattern)):
            return logs
    raise UsageError(
        "unreadable_log", f"{file} is a folder without a log: neither *.log nor */*.log is in it"
    )


def _hosts(files: Sequence[str]) -> list[str]:
    """What tells each file from the others: their paths without what all begin and end with."""
    if len(files) == 1:
        return [Path(files[0]).stem]
    parts = _apart([Path(file.removesuffix(".log")).parts for file in files])
    if all(len(rest) == 1 for rest in parts):
        words = [tuple(name.split(".")) for (name,) in parts]
        if not any(word.isdigit() for each in words for word in each):  # an address is no list of words
            return [".".join(own) for own in _apart(words)]
    return ["/".join(own) for own in parts]


def _apart(parts: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The same without what all of them have in front, and what all have at the end; of each a part is left."""
    while min(map(len, parts)) > 1 and len({each[0] for each in parts}) == 1:
        parts = [each[1:] for each in parts]
    while min(map(len, parts)) > 1 and len({each[-1] for each in parts}) == 1:
        parts = [each[:-1] for each in parts]
    return list(parts)


def require_whole(files: Sequence[str], *, follow: bool) -> None:
    """Raise what cannot be asked of several logs together: UsageError("one_log_only")."""
    asked = "--follow" if follow else "standard input" if "-" in files else None
    if asked is not None:
        raise UsageError(
            "one_log_only", f"{asked} is for one log: several are read together once they lie in files"
        )


def tell(
    logs: Sequence[HostLog],
    kind: str | None,
    known: Callable[[ReadEngine, str], Known],
    patches: Sequence[Patch],
    *,
    as_json: bool,
    bundle: bool,
) -> Verdict:
    """Say what the logs come to together, and pack them where a `bundle` is asked for; gives the verdict on the launch. Raises
    UsageError("not_one_launch", "no_engine_log" or "bundle_not_written")."""
    from orchestrator.cli.log_reading import read, require_log
    from orchestrator.diagnosis.across import Account, judge

    read_logs = [read(log.file, kind, known, patches) for log in logs]
    writers = {log.writer.kind: log for log in read_logs}
    if len(writers) > 1:
        wrote = " and ".join(f"{log.file} of {log.writer.title}" for log in writers.values())
        raise UsageError("not_one_launch", f"{wrote}: these are not the logs of one launch")
    several = sum(log.diagnosis.verdict in FAILED for log in read_logs) > 1
    accounts = [Account(log.diagnosis, at=_written(log) if several else None) for log in read_logs]
    joint = judge(accounts, read_logs[0].writer.log)
    require_log(read_logs[joint.cause])
    diagnoses = [log.diagnosis for log in read_logs]
    if as_json:
        say_json(logs, diagnoses, joint)
    else:
        say(logs, diagnoses, joint, len(patches))
    if bundle:
        click.echo(f"bundle  {_packed(logs, read_logs)}", err=True)
    return joint.verdict


def _packed(logs: Sequence[HostLog], read_logs: Sequence[ReadLog]) -> Path:
    """Where the logs and what each of them comes to were packed, a folder a host."""
    from orchestrator.base import bundle
    from orchestrator.on_host.secrets.secrets import redact

    with ExitStack() as files:
        parts = [
            bundle.Contents(
                files.enter_context(Path(log.file).open("rb")),
                {"diagnosis": log.diagnosis.model_dump(mode="json")},
                log.writer.log_name,
                folder=host.host,
            )
            for host, log in zip(logs, read_logs, strict=True)
        ]
        return bundle.write(f"diagnose-{redact(logs[0].host)}-and-{len(logs) - 1}-more", *parts)


def _written(log: ReadLog) -> float | None:
    """When the root cause was written; a pipe is gone once it was read."""
    from orchestrator.diagnosis.moments import written

    root = log.diagnosis.root_cause
    if root is None or not Path(log.file).is_file():
        return None
    with Path(log.file).open("rb") as lines:
        return written(lines, root.line, log.writer.log)


def say(logs: Sequence[HostLog], diagnoses: Sequence[Diagnosis], joint: JointDiagnosis, known: int) -> None:
    """What the logs come to together, for a person; `known` is how many patches were asked."""
    from orchestrator.cli.hints import packing
    from orchestrator.report.choose import write
    from orchestrator.report.diagnosis_text import diagnosis_lines
    from orchestrator.report.hosts_text import hosts_text

    file = logs[joint.cause].file
    words = hosts_text([log.host for log in logs], diagnoses, joint)
    diagnosis = diagnoses[joint.cause].model_copy(update={"verdict": joint.verdict})
    write(
        diagnosis_lines(
            diagnosis, file, known=known, packing=packing(*(log.file for log in logs)), hosts=words
        ),
        sys.stdout,
    )


def say_json(logs: Sequence[HostLog], diagnoses: Sequence[Diagnosis], joint: JointDiagnosis) -> None:
    """The same as one object."""
    from orchestrator.report.json_lines import json_line

    each = [diagnosis.model_dump(mode="json") for diagnosis in diagnoses]
    hosts = [
        {"host": log.host, "file": log.file, "part": part}
        | {key: own[key] for key in ("verdict", "root_cause", "finding")}
        for log, part, own in zip(logs, joint.parts, each, strict=True)
    ]
    cause = logs[joint.cause]
    whole = {**each[joint.cause], "verdict": joint.verdict, "host": cause.host, "file": cause.file}
    shown = {"apart": joint.apart, "untold": joint.untold, "unsaid": joint.unsaid}
    click.echo(json_line({**whole, **shown, "hosts": hosts}))
