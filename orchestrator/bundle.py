"""What does a person need who looks into an unknown failure: the log, the facts and the plan, without secrets?"""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import os
import re
import tarfile
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

STARS = b"***"
_NAMES = (
    rb"[A-Za-z0-9_.-]*(?:TOKEN|SECRET|PASSWORD|PASSWD|API[_-]?KEY|ACCESS[_-]?KEY|CREDENTIAL)[A-Za-z0-9_-]*"
)
_SECRETS = re.compile(
    rb"""hf_[A-Za-z0-9]{8,}
        |(?<=://)[^/\s@'"]+(?=@)
        |(?i:(?<=bearer\ )|(?<=basic\ ))[A-Za-z0-9._~+/=-]{6,}
        |(?i:(?<=--api-key\ )|(?<=--api-key=)|(?<=--hf-token\ )|(?<=--hf-token=))[^\s]+""",
    re.VERBOSE,
)
_SETTINGS = re.compile(
    rb"""(?P<name>(?<![A-Za-z0-9_.-])"""
    + _NAMES
    + rb"""['"]?\ ?[=:]\ ?)
        (?P<value>\[[^\]]*\]|'[^']*'|"[^"]*"|[^\s,'"}\])]+)""",
    re.VERBOSE | re.IGNORECASE,
)
# `max_tokens: 8`, `tokenizer='x'`: counts and names, not secrets.
_COUNT = re.compile(
    rb"""(?:max_|num_|_)?\w*tokens\b|\w*tokenizer\w*|token_ids?\b|\w*_tokens\w*""", re.IGNORECASE
)


def redact(text: bytes) -> bytes:
    """Tokens, keys and passwords replaced by stars (vLLM before 0.29 logs its API key in clear)."""
    return _SETTINGS.sub(_hidden, _SECRETS.sub(STARS, text))


def _hidden(found: re.Match[bytes]) -> bytes:
    counts = _COUNT.match(found["name"].strip(b"'\""))
    harmless = found["value"] in (b"None", b"''", b'""') or found["value"].isdigit()
    return found[0] if counts or harmless else found["name"] + STARS


def folder() -> Path:
    """Where bundles are kept on this machine."""
    base = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(base) / "deploy" / "bundles"


def write(name: str, log: Iterable[bytes], documents: Mapping[str, Any], *, into: Path | None = None) -> Path:
    """Write NAME-TIME.tar.gz (0600) with vllm.log and one JSON file a document; gives its path."""
    target = into or folder()
    target.mkdir(mode=0o700, parents=True, exist_ok=True)
    safe = re.sub(r"[^A-Za-z0-9._-]", "_", name)
    path, descriptor = _new(target, f"{safe}-{time.strftime('%Y%m%dT%H%M%S')}")
    with os.fdopen(descriptor, "wb") as file, tarfile.open(fileobj=file, mode="w:gz") as bundle:
        _add(bundle, f"{safe}/vllm.log", b"".join(redact(line) for line in log))
        for title, document in documents.items():
            text = json.dumps(document, indent=1, default=str).encode()
            _add(bundle, f"{safe}/{title}.json", redact(text))
    return path


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
