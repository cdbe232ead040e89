"""What does one line of a launch log say, and which process said it?

A log reaches us as a launcher, docker, compose, journald or Ray left it, from vLLM 0.6 to today: with
their prefixes, colours, carriage returns, bytes that are no UTF-8, and two processes in one line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

LONGEST = 64 * 1024
"""Bytes of one raw line that are kept; an engine configuration takes about 6 KiB."""


@dataclass(frozen=True, slots=True)
class Line:
    """One record of a log.

    `number` is 1-based in the file. `process`, `pid`, `level`, `time` ("MM-DD HH:MM:SS") and `file`
    ("core.py:97") are None where the line does not say; `message` is the rest, without colours.
    """

    number: int
    process: str | None
    pid: int | None
    level: str | None
    time: str | None
    file: str | None
    message: str


_ANSI = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)|[@-Z\\^_])")
_ANSI_BYTES = re.compile(_ANSI.pattern.encode())
_CARRIER = re.compile(
    r"""(?:
      (?:[a-z0-9][a-z0-9.-]*\ )?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)\ (?:std(?:out|err)\ [FP]\ )?
                                                                     # docker logs -t, Kubernetes, stern
    | (?:[A-Z][a-z]{2}\ [\ \d]\d\ \d\d:\d\d:\d\d\ )?\S+\ [\w@.:/-]+\[\d+\]:\ ?   # journald, syslog
    | (?:[A-Z][a-z]{2}\ [\ \d]\d\ \d\d:\d\d:\d\d\ )?\S+\ kernel:\ (?:\[\ *\d+\.\d+\]\ )?
    | \[(?:\ *\d+\.\d{6}|[A-Z][a-z]{2}\ [A-Z][a-z]{2}\ [\ \d]\d\ \d\d:\d\d:\d\d\ \d{4})\]\       # dmesg
    | \[pod/[^\]\s]+\]\ ?                                            # kubectl logs --prefix
    | [A-Za-z0-9][\w.-]*\ +\|\ ?                                     # compose
    )""",
    re.VERBOSE,
)
_PROCESS = re.compile(
    r"\((?P<name>[^()]*?)(?: \+\w+| pid=(?P<pid>\d+))?(?P<ip>, ip=[^()\s]+)?(?:, actor_name=\w+)?\) ?"
)
_OF_RAY = frozenset(("raylet", "autoscaler", "gcs_server"))
"""Processes that are named without a pid."""
_LEVELS = "DEBUG|INFO|WARNING|ERROR|CRITICAL"
_LEVEL_WORDS = tuple(f"{level} " for level in _LEVELS.split("|"))
_HEADER = re.compile(
    rf"(?P<level>{_LEVELS}) (?P<time>\d\d-\d\d \d\d:\d\d:\d\d) \[?(?P<file>[^\]\[\s:]+:\d+)\] ?"
)
_OWN_PREFIX = re.compile(rf"\S.{{0,78}}? (?=(?:{_LEVELS}) \d\d-\d\d \d\d:\d\d:\d\d \[)")
"""What VLLM_LOGGING_PREFIX puts before a record."""
_RANK = re.compile(r"\[(rank\d+)\]: ?")
_NATIVE = re.compile(
    r"""(?:
      (?:\[\d{4}-\d\d-\d\d\ \d\d:\d\d:\d\d\]\ )?[\w.-]+:(?P<nccl>\d+):\d+\ \[-?\d+\]\           # NCCL
    | \[?(?P<glog>[IWEF])\d{3,4}\ \d\d:\d\d:\d\d\.\d+\ (?:\d+\ )?(?P<file>[\w./-]+:\d+)\]\ ?    # glog, torch
    | \[\d{4}-\d\d-\d\d\ [\d:,]+\ (?P<ray>[IWEC])\ (?P<pid>\d+)\ \d+\]\ (?:\((?P<name>\w+)\)\ )?(?P<at>[\w./-]+:\d+):\   # Ray
    | \d{4}-\d\d-\d\d\ [\d:,]+\s+(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL)\ (?P<by>[\w.-]+:\d+)\ --\   # Ray's Python
    )""",
    re.VERBOSE,
)
_LETTERS = {"I": "INFO", "W": "WARNING", "E": "ERROR", "F": "CRITICAL", "C": "CRITICAL"}
_GLUED = re.compile(rf"(?<=.)(?<!\) )(?=\([A-Za-z][^()]* pid=\d+[^()]*\) (?:{_LEVELS}) \d\d-\d\d )")
_JSON = ('{"', '{ "')
_KEYS = (
    ("message", "msg", "event"), ("level", "levelname", "severity"), ("file", "filename", "fileinfo", "logger", "name"),
    ("process_name", "processName"), ("exc_info", "exception", "exc_text", "stack_trace", "traceback"),
)  # fmt: skip
"""Where loggers that write JSON put the message, its level, the source file, the process and the traceback."""
_SEVERITIES = {"WARN": "WARNING", "FATAL": "CRITICAL", "ERR": "ERROR"}
_PROGRESS = re.compile(r"\d+%(?:\||\s+Completed)")


def cut(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Chunks of a file or channel as raw lines, without their line feed.

    At most LONGEST bytes of a line are kept; NUL bytes (a truncated log has gigabytes) are dropped.
    """
    rest = bytearray()
    for chunk in chunks:
        *whole, last = chunk.replace(b"\0", b"").split(b"\n")
        for piece in whole:
            rest += piece[: LONGEST - len(rest)]
            yield bytes(rest)
            rest.clear()
        rest += last[: LONGEST - len(rest)]
    if rest:
        yield bytes(rest)


def without_colours(block: bytes) -> bytes:
    """Whole lines without what only a terminal needs."""
    return _ANSI_BYTES.sub(b"", block)


def read(raw_lines: Iterable[bytes]) -> Iterator[Line]:
    """Every record of a log; a raw line into which two processes wrote gives two, of one number."""
    for number, raw in enumerate(raw_lines, 1):
        yield from parse_all(raw, number)


def parse(raw: bytes, number: int) -> Line:
    """The last record of a raw line (its only one, mostly)."""
    return parse_all(raw, number)[-1]


def parse_all(raw: bytes, number: int) -> tuple[Line, ...]:
    """Every record of a raw line, at least one."""
    text = raw[:LONGEST].decode("utf-8", "replace").rstrip("\r\n")
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    if text.startswith(_JSON) and (unpacked := _unpacked(text, number)):
        return unpacked
    parts = _shown(_without_carrier(text))
    return tuple(_record(record, number) for part in parts for record in _unglued(part))


def _unpacked(text: str, number: int) -> tuple[Line, ...] | None:
    """The records of a line that is a JSON object: docker's own log files, or a logger that writes JSON."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    wrapped = value.get("log")
    if isinstance(wrapped, str) and "stream" in value:
        return parse_all(wrapped.encode("utf-8", "replace"), number)
    message, level, file, process, told = (_first(value, names) for names in _KEYS)
    if message is None:
        return None
    time = str(value.get("asctime") or value.get("timestamp") or "")
    said = f"{message}\n{told}" if told else message
    severity = _SEVERITIES.get((level or "").upper(), (level or "").upper()) or None
    return tuple(
        Line(number, process, None, severity, time, file or "", each.rstrip())
        for each in said.splitlines() or [""]
    )


def _first(value: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    return next((value[name] for name in names if isinstance(value.get(name), str)), None)


def _unglued(text: str) -> list[str]:
    # most lines are told apart without the regular expression, which costs more than all else here
    first = text.find(" pid=")
    if first < 0 or (text[0] == "(" and text.find(" pid=", first + 1) < 0):
        return [text]
    return _GLUED.split(text)


def _without_carrier(text: str) -> str:
    for _ in range(3):
        found = _CARRIER.match(text)
        if not found:
            break
        text = text[found.end() :]
    return text


def _shown(text: str) -> list[str]:
    """What a terminal would have kept of a line with carriage returns: all but overwritten progress."""
    if "\r" not in text:
        return [text]
    parts = [part for part in text.split("\r") if part.strip()]
    if not parts:
        return [""]
    return [part for part in parts[:-1] if not _PROGRESS.search(part)] + [parts[-1]]


def _record(text: str, number: int) -> Line:
    process: str | None = None
    pid: int | None = None
    while text.startswith("("):
        found = _PROCESS.match(text)
        if not found or not (found["pid"] or found["ip"] or found["name"] in _OF_RAY):
            break
        process, pid = found["name"], int(found["pid"]) if found["pid"] else None
        text = text[found.end() :]
    header = _HEADER.match(text)
    if (
        not header
        and " [" in text
        and any(level in text for level in _LEVEL_WORDS)
        and (own := _OWN_PREFIX.match(text))
    ):
        text = text[own.end() :]
        header = _HEADER.match(text)
    if header:
        return Line(
            number,
            process,
            pid,
            header["level"],
            header["time"],
            header["file"],
            text[header.end() :].rstrip(),
        )
    if rank := _RANK.match(text):
        process, text = process or rank[1], text[rank.end() :]
    if (" [" in text or text[:1] in "[2IWEF") and (native := _NATIVE.match(text)):
        return _of_library(text, number, process, pid, native)
    return Line(number, process, pid, None, None, None, text.rstrip())


def _of_library(text: str, number: int, process: str | None, pid: int | None, prefix: re.Match[str]) -> Line:
    """A record of a library that does not log through Python."""
    own = prefix["nccl"] or prefix["pid"]
    level = prefix["level"] or _LETTERS.get(prefix["glog"] or prefix["ray"] or "")
    file = prefix["file"] or prefix["at"] or prefix["by"]
    name = process or prefix["name"]
    return Line(
        number, name, pid or (int(own) if own else None), level, None, file, text[prefix.end() :].rstrip()
    )
