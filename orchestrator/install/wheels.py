"""Which files of a folder on this machine are sent to a host, and how do they get there?"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from orchestrator.base.amounts import decimal
from orchestrator.base.errors import HostError, PreflightRefused, UsageError
from orchestrator.base.events import Report, StepReport
from orchestrator.hosts.host import Host
from orchestrator.playbook.pinned import PinnedEngine
from orchestrator.programs.ask import Answers
from orchestrator.programs.receive_wheels import (
    ArrivedFile,
    MissingPart,
    MissingParts,
    ReceiveWheels,
    SentFile,
)

_READ = 1 << 20
_TELLING_SECONDS = 0.5


def wheels_of(folder: Path) -> tuple[Path, ...]:
    """The wheels in a folder, and uv where it is beside them; raises UsageError("wheels_folder") where there is none."""
    try:
        files = tuple(path for path in sorted(folder.iterdir()) if path.suffix == ".whl" or path.name == "uv")
    except OSError as error:
        raise UsageError("wheels_folder", f"{folder} cannot be read: {error.strerror or error}") from None
    if not files:
        raise UsageError("wheels_folder", f"there is no wheel in {folder}")
    return files


def send(host: Host, report: Report, pinned: PinnedEngine, paths: Sequence[Path]) -> None:
    """Have these files on the host, whole, for the engine that is installed from them; what is there is not sent again.

    Where this is cut off, the next one goes on. Raises HostError for a lost connection, Locked("wheels_busy"),
    PreflightRefused: install_no_space, and wheel_broken for what arrives as another than it is here, twice.
    """
    by_name = {path.name: path for path in paths}
    with report.step("send", f"{_count(paths)} to {host.name}") as step:
        files = tuple(_described(paths, step))
        request = ReceiveWheels(engine=pinned.name, version=pinned.version, files=files)
        sent, broken = _sent(host, request, by_name, step)
        if broken:
            more, broken = _sent(host, request, by_name, step)
            sent += more
        if broken:
            message = f"{host.name}: {', '.join(broken)} arrived as another than it is here, twice"
            raise PreflightRefused("wheel_broken", message)
        total = sum(file.size for file in files)
        step.done = f"{_count(files)}, {decimal(total)}" + (
            "" if sent == total else f", {decimal(sent)} of it now"
        )
        step.data = {"files": len(files), "bytes": total, "sent": sent}


def _count(files: Sequence[object]) -> str:
    return f"{len(files)} file{'s' if len(files) > 1 else ''}"


def _described(paths: Sequence[Path], step: StepReport) -> Iterator[SentFile]:
    for path in paths:
        step.progress(f"hashing {path.name}", phase="hash")
        with path.open("rb") as file:
            digest = hashlib.sha256()
            while data := file.read(_READ):
                digest.update(data)
        yield SentFile(name=path.name, size=path.stat().st_size, sha256=digest.hexdigest())


def _sent(
    host: Host, request: ReceiveWheels, paths: dict[str, Path], step: StepReport
) -> tuple[int, list[str]]:
    """Send what is missing; gives the bytes that were sent, and the files that did not arrive as they are here."""
    answers = Answers(host, request)
    try:
        values = answers.values()
        first = next(values, None)
        wanted = first.wanted if isinstance(first, MissingParts) else ()
        size = {file.name: file.size for file in request.files}
        total, sent, shown_at = sum(size[part.name] - part.offset for part in wanted), 0, 0.0
        for part in wanted:
            for data in _read(paths[part.name], part, size[part.name]):
                answers.write(data)
                sent += len(data)
                if time.monotonic() > shown_at + _TELLING_SECONDS:
                    shown_at = time.monotonic()
                    text = f"{decimal(sent)} of {decimal(total)}, {part.name}"
                    step.progress(text, bytes=sent, total=total)
        arrived = {value.name: value.sound for value in values if isinstance(value, ArrivedFile)}
    finally:
        answers.close()
    if len(arrived) < len(wanted) and all(arrived.values()):
        raise HostError("connection_lost", f"{host.name} took only {len(arrived)} of {len(wanted)} wheels")
    return sent, [name for name, sound in arrived.items() if not sound]


def _read(path: Path, part: MissingPart, size: int) -> Iterator[bytes]:
    with path.open("rb") as file:
        file.seek(part.offset)
        left = size - part.offset
        while left:
            data = file.read(min(_READ, left))
            if not data:
                raise UsageError("wheels_folder", f"{path} became shorter while it was sent")
            left -= len(data)
            yield data
