"""Which keys do known_hosts files hold for a host, and how is one added?"""

from __future__ import annotations

import base64
import binascii
import fnmatch
import functools
import hashlib
import hmac
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from orchestrator.on_host.files import regular_file

_LARGEST_BYTES = 64 << 20


@dataclass(frozen=True)
class HostKey:
    """A public host key: its type as in known_hosts, and its bytes in SSH wire format."""

    kind: str
    blob: bytes

    @property
    def fingerprint(self) -> str:
        """As ssh prints it: `SHA256:` and unpadded base64."""
        digest = base64.b64encode(hashlib.sha256(self.blob).digest()).decode("ascii")
        return "SHA256:" + digest.rstrip("=")


@dataclass(frozen=True)
class Entry:
    """One line of a known_hosts file; `line` counts from 1."""

    file: str
    line: int
    marker: str
    patterns: tuple[str, ...]
    key: HostKey

    def names(self, host: str) -> bool:
        """Whether the line is about `host` (a name, or `[name]:port`)."""
        named = False
        for pattern in self.patterns:
            negated = pattern.startswith("!")
            if _matches(pattern.removeprefix("!"), host):
                if negated:
                    return False
                named = True
        return named


def read_files(files: Iterable[str]) -> tuple[Entry, ...]:
    """Every readable line of the files, in order; a missing file, a pipe or a device is an empty one."""
    return tuple(entry for file in files for entry in _lines(file, _text(file)).entries)


def about(files: Iterable[str], names: Iterable[str]) -> tuple[Entry, ...]:
    """Those of the lines that may be about one of these names, in order: a hundred hosts need not go through the lines of each other."""
    wanted = tuple(name.lower() for name in names)
    return tuple(entry for file in files for entry in _lines(file, _text(file)).about(wanted))


@dataclass(frozen=True)
class _Lines:
    """The entries of a file, and which names they have as they stand (lower case)."""

    entries: tuple[Entry, ...]
    by_name: Mapping[str, Sequence[int]]
    others: tuple[int, ...]
    """Those that more names may fit: patterns, and hashes of names."""

    def about(self, names: Iterable[str]) -> Iterator[Entry]:
        numbers = {*self.others, *(number for name in names for number in self.by_name.get(name, ()))}
        return (self.entries[number] for number in sorted(numbers))


@functools.lru_cache(maxsize=8)
def _lines(file: str, text: str) -> _Lines:
    """Of a text that was parsed before the same."""
    entries = tuple(parse(file, text))
    by_name: dict[str, list[int]] = {}
    others = []
    for number, entry in enumerate(entries):
        if any(sign in pattern for pattern in entry.patterns for sign in "*?!|"):
            others.append(number)
        else:
            for name in entry.patterns:
                by_name.setdefault(name.lower(), []).append(number)
    return _Lines(entries, by_name, tuple(others))


def parse(file: str, text: str) -> Iterator[Entry]:
    """Lines that are broken or of a kind unknown here are passed over, as ssh does."""
    for number, line in enumerate(text.splitlines(), start=1):
        fields = line.split()
        if not fields or fields[0].startswith("#"):
            continue
        marker = fields.pop(0) if fields[0].startswith("@") else ""
        if len(fields) < 3:
            continue
        names, kind, encoded = fields[:3]
        try:
            blob = base64.b64decode(encoded, validate=True)
        except (binascii.Error, ValueError):
            continue
        yield Entry(file, number, marker, tuple(names.split(",")), HostKey(kind, blob))


def line_for(host: str, key: HostKey, *, hashed: bool) -> str:
    name = _hashed(host, secrets.token_bytes(20)) if hashed else host
    return f"{name} {key.kind} {base64.b64encode(key.blob).decode('ascii')}"


def append(file: str, line: str) -> None:
    """Add a line, making the file (0600) and its folder (0700) where they are missing; raises OSError."""
    Path(file).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(file, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        size = os.fstat(descriptor).st_size
        cut_off = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
        os.write(descriptor, (("\n" if cut_off else "") + line + "\n").encode())
    finally:
        os.close(descriptor)


def _text(file: str) -> str:
    try:
        return regular_file.read(file, _LARGEST_BYTES).decode(errors="replace")
    except regular_file.Unfit:
        return ""


def _matches(pattern: str, host: str) -> bool:
    if pattern.startswith("|1|"):
        try:
            salt = base64.b64decode(pattern.split("|")[2])
        except (binascii.Error, ValueError, IndexError):
            return False
        return hmac.compare_digest(_hashed(host, salt), pattern)
    if not ("*" in pattern or "?" in pattern):
        return pattern.lower() == host.lower()
    # In fnmatch a bracket opens a set of characters; in known_hosts it is itself.
    literal = pattern.lower().replace("[", "[[]")
    return fnmatch.fnmatchcase(host.lower(), literal)


def _hashed(host: str, salt: bytes) -> str:
    digest = hmac.digest(salt, host.lower().encode(), "sha1")
    return f"|1|{base64.b64encode(salt).decode('ascii')}|{base64.b64encode(digest).decode('ascii')}"
