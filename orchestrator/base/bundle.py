"""What does a person need who looks into an unknown failure: the log, the facts and the plan, without secrets?"""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import os
import re
import shlex
import tarfile
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orchestrator.base.errors import UsageError
from orchestrator.on_host.files import trusted
from orchestrator.on_host.secrets.secrets import brief, redact_lines, redacted

LONGEST_NAME = 80


@dataclass(frozen=True)
class Contents:
    """What one host has for a bundle: the log as `log_name`, `files` of text, and one JSON file a document; in `folder`, where there
    are several hosts."""

    log: Iterable[bytes]
    documents: Mapping[str, Any]
    log_name: str
    files: Mapping[str, str] = field(default_factory=dict)
    folder: str = ""


def folder() -> Path:
    """Where bundles are kept on this machine."""
    base = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(base) / "deploy" / "bundles"


def write(name: str, *parts: Contents, into: Path | None = None) -> Path:
    """Write NAME-TIME.tar.gz (0600) with these parts; gives its path.

    Raises UsageError("bundle_not_written"), and leaves no half of one.
    """
    safe = _plain(name)
    target = into
    try:
        target = target or folder()
        trusted.make(target)  # a state folder open to others would be refused by a deployment on this machine
        path, descriptor = _new(target, f"{safe}-{time.strftime('%Y%m%dT%H%M%S')}")
        try:
            with os.fdopen(descriptor, "wb") as file, tarfile.open(fileobj=file, mode="w:gz") as bundle:
                for part in parts:
                    _fill(bundle, f"{safe}/{_plain(part.folder)}/" if part.folder else f"{safe}/", part)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
    except (OSError, RuntimeError) as error:  # RuntimeError: nobody knows this user's home folder
        where = shlex.quote(str(target)) if target else "$HOME"
        raise UsageError(
            "bundle_not_written", f"no bundle can be written: {error}", next_command=f"ls -ld {where}"
        ) from error
    return path


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]", "_", brief(name, LONGEST_NAME))


def _fill(bundle: tarfile.TarFile, folder: str, part: Contents) -> None:
    _add(bundle, f"{folder}{part.log_name}", b"".join(redact_lines(part.log)))
    for title, text in part.files.items():
        lines = text.encode().splitlines(keepends=True)
        _add(bundle, f"{folder}{Path(title).name}", b"".join(redact_lines(lines)))
    for title, document in part.documents.items():
        shown = redacted(json.loads(json.dumps(document, default=str)))
        _add(bundle, f"{folder}{title}.json", json.dumps(shown, indent=1).encode())


def _new(folder: Path, name: str) -> tuple[Path, int]:
    """A file of its own: what bears the name already, a link among it, is neither written over nor followed."""
    for number in itertools.count(1):
        path = folder / f"{name}{f'-{number}' if number > 1 else ''}.tar.gz"
        with contextlib.suppress(FileExistsError):
            return path, os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    raise AssertionError("numbers do not end")


def _add(bundle: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(content)
    member.mtime = int(time.time())
    bundle.addfile(member, io.BytesIO(content))
