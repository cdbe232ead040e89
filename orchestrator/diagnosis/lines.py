"""What does one line of a launch log say, and which process said it?

A log reaches us as a launcher, docker, compose, journald or Ray left it: with their prefixes, colours, carriage
returns, bytes that are no UTF-8, and two processes in one line. What the engine itself puts before a message, its grammar
knows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from orchestrator.diagnosis.hearsay import worded_by_a_client
from orchestrator.engines.log_grammar import LogGrammar

LONGEST = 64 * 1024
"""Bytes of one raw line that are kept; an engine configuration takes about 6 KiB."""


@dataclass(frozen=True, slots=True)
class Line:
    """One record of a log.

    `number` is 1-based in the file. `process`, `pid`, `level`, `time` ("MM-DD HH:MM:SS") and `file`
    ("x.py:97") are None where the line does not say; `message` is the rest, without colours. `hearsay`: a client of
    the server may have worded it. `dress` is what the record came in (carriers, JSON, a configured prefix), which all
    records of a log share; None where it was cut out of the middle of a raw line. `broken`: a carrier that takes no
    longer lines broke it off, and the next line goes on inside it.
    """

    number: int
    process: str | None
    pid: int | None
    level: str | None
    time: str | None
    file: str | None
    message: str
    hearsay: bool = False
    dress: str | None = ""
    broken: bool = False


_ANSI = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)|[@-Z\\^_])")
_ANSI_BYTES = re.compile(_ANSI.pattern.encode())
_ANSI_IN_JSON = re.compile(r"(?<!\\)\\u001b\[[0-9;]*m")
_ANSI_BYTES_IN_JSON = re.compile(_ANSI_IN_JSON.pattern.encode())
"""A colour as JSON spells it; behind another backslash it is text."""
_CARRIER = re.compile(
    r"""(?:
      (?P<docker>(?:[a-z0-9][a-z0-9.-]*\ )?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)\ (?:std(?:out|err)\ [FP]\ )?)
                                                                     # docker logs -t, Kubernetes, stern
    | (?P<journal>(?:[A-Z][a-z]{2}\ [\ \d]\d\ \d\d:\d\d:\d\d\ )?[^\s\[]\S*\ [\w@.:/-]+\[\d+\]:\ ?)   # journald, syslog
    | (?P<kernel>(?:[A-Z][a-z]{2}\ [\ \d]\d\ \d\d:\d\d:\d\d\ )?\S+\ kernel:\ (?:\[\ *\d+\.\d+\]\ )?)
    | (?P<dmesg>\[(?:\ *\d+\.\d{6}|[A-Z][a-z]{2}\ [A-Z][a-z]{2}\ [\ \d]\d\ \d\d:\d\d:\d\d\ \d{4})\]\ )
    | (?P<pod>\[pod/[^\]\s]+\]\ ?)                                     # kubectl logs --prefix
    | (?P<compose>(?:[A-Za-z0-9][\w.-]*|\[[A-Za-z0-9][\w.-]*\])\ +\|\ ?)
    )""",
    re.VERBOSE,
)
_CARRIED = 16_000
"""Bytes after which a carrier may break a line off: 16 KiB in containers, 48 KiB in journald."""
_LOGFMT = re.compile(r'time="[^"]*" level=\w+ msg=(?P<message>"(?:[^"\\]|\\.)*")(?: \w+=\S*)*$')
_RANK = re.compile(r"\[(rank\d+)\]: ?")
_NATIVE = re.compile(
    r"""(?:
      (?:\[\d{4}-\d\d-\d\d\ \d\d:\d\d:\d\d\]\ )?[\w.-]+:(?P<nccl>\d{1,10}):\d+\ \[-?\d+\]\           # NCCL
    | \[?(?P<glog>[IWEF])\d{3,4}\ \d\d:\d\d:\d\d\.\d+\ (?:\d+\ )?(?P<file>[\w./-]+:\d+)\]\ ?    # glog, torch
    | \[\d{4}-\d\d-\d\d\ [\d:,]+\ (?P<ray>[IWEC])\ (?P<pid>\d{1,10})\ \d+\]\ (?:\((?P<name>\w+)\)\ )?(?P<at>[\w./-]+:\d+):\   # Ray
    | \d{4}-\d\d-\d\d\ [\d:,]+\s+(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL)\ (?P<by>[\w.-]+:\d+)\ --\   # Ray's Python
    )""",
    re.VERBOSE,
)
_UVICORN = re.compile(r"(?:DEBUG|INFO|WARNING|ERROR|CRITICAL): +")
_LETTERS = {"I": "INFO", "W": "WARNING", "E": "ERROR", "F": "CRITICAL", "C": "CRITICAL"}
_JSON = ('{"', '{ "')
_KEYS = (
    ("message", "msg", "event"), ("level", "levelname", "severity"), ("file", "filename", "fileinfo", "logger", "name"),
    ("process_name", "processName"), ("exc_info", "exception", "exc_text", "stack_trace", "traceback"),
)  # fmt: skip
"""Where loggers that write JSON put the message, its level, the source file, the process and the traceback."""
_SEVERITIES = {"WARN": "WARNING", "FATAL": "CRITICAL", "ERR": "ERROR"}
_PROGRESS = re.compile(r"\d{1,3}%(?:\||\s{1,8}Completed)")


def cut(chunks: Iterable[bytes], longest: int = LONGEST) -> Iterator[bytes]:
    """Chunks of a file or channel as raw lines, without their line feed.

    At most `longest` bytes of a line are kept; NUL bytes (a truncated log has gigabytes) are dropped.
    """
    rest = bytearray()
    for chunk in chunks:
        *whole, last = chunk.replace(b"\0", b"").split(b"\n")
        for piece in whole:
            rest += piece[: longest - len(rest)]
            yield bytes(rest)
            rest.clear()
        rest += last[: longest - len(rest)]
    if rest:
        yield bytes(rest)


def without_colours(block: bytes) -> bytes:
    """Whole lines without what only a terminal needs."""
    return _ANSI_BYTES.sub(b"", block)


def without_colours_in_json(block: bytes) -> bytes:
    """The same of lines that are JSON objects."""
    return _ANSI_BYTES_IN_JSON.sub(b"", block)


def read(raw_lines: Iterable[bytes], grammar: LogGrammar) -> Iterator[Line]:
    """Every record of a log; a raw line into which two processes wrote gives two, of one number."""
    for number, raw in enumerate(raw_lines, 1):
        yield from parse_all(raw, number, grammar)


def parse(raw: bytes, number: int, grammar: LogGrammar) -> Line:
    """The last record of a raw line (its only one, mostly)."""
    return parse_all(raw, number, grammar)[-1]


def parse_all(raw: bytes, number: int, grammar: LogGrammar) -> tuple[Line, ...]:
    """Every record of a raw line, at least one."""
    text = raw[:LONGEST].decode("utf-8", "replace").rstrip("\r\n")
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    return _undressed(text, number, "", grammar)


def _undressed(text: str, number: int, dress: str, grammar: LogGrammar) -> tuple[Line, ...]:
    if text.startswith(_JSON) and (unpacked := _unpacked(text, number, dress, grammar)):
        return unpacked
    if text.startswith('time="') and (logged := _LOGFMT.match(text)):
        return _undressed(_unescaped(logged["message"]), number, dress + "logfmt ", grammar)
    for _ in range(3):
        carrier = _CARRIER.match(text)
        if not carrier:
            break
        dress, text = f"{dress}{carrier.lastgroup} ", text[carrier.end() :]
        if carrier[0].endswith((" stdout P ", " stderr P ")):
            return _broken(_records(text, number, dress, grammar))
    records = _records(text, number, dress, grammar)
    return _broken(records) if dress and len(text) >= _CARRIED else records


def _broken(records: tuple[Line, ...]) -> tuple[Line, ...]:
    return (*records[:-1], replace(records[-1], broken=True))


def _records(text: str, number: int, dress: str, grammar: LogGrammar) -> tuple[Line, ...]:
    """What several wrote into one raw line; whoever gave his record a header owns the rest of the raw line."""
    records: list[Line] = []
    for part in _shown(text):
        for record in grammar.records.unglue(part):
            records.append(_record(record, number, None if records else dress, grammar))
        if records[-1].level is not None or records[-1].hearsay or _UVICORN.match(records[-1].message):
            break
    return tuple(records)


def _unescaped(quoted: str) -> str:
    try:
        return str(json.loads(quoted))
    except ValueError:
        return quoted[1:-1]


def _unpacked(text: str, number: int, dress: str, grammar: LogGrammar) -> tuple[Line, ...] | None:
    """The records of a line that is a JSON object: docker's own log files, or a logger that writes JSON."""
    try:
        value = json.loads(_ANSI_IN_JSON.sub("", text))
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    wrapped = value.get("log")
    if isinstance(wrapped, str) and value.get("stream") in ("stdout", "stderr"):
        records = _undressed(wrapped.rstrip("\r\n"), number, dress + "docker-json ", grammar)
        return records if wrapped.endswith("\n") else _broken(records)
    message, level, file, process, traceback = (_first(value, names) for names in _KEYS)
    if message is None:
        return None
    time = str(value.get("asctime") or value.get("timestamp") or "")
    severity = _SEVERITIES.get((level or "").upper(), (level or "").upper()) or None
    hearsay = worded_by_a_client(severity, file, message, grammar.clients)
    text = f"{message}\n{traceback}" if traceback else message
    keys = ",".join(name for names in _KEYS[:-1] for name in names if name in value)
    return tuple(
        Line(
            number, process, None, severity, time, file or "", each.rstrip(), hearsay, f"{dress}json {keys} "
        )
        for each in text.split("\n")
    )


def _first(value: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    return next((value[name] for name in names if isinstance(value.get(name), str)), None)


def _shown(text: str) -> list[str]:
    """What a terminal would have kept of a line with carriage returns: all but overwritten progress."""
    if "\r" not in text:
        return [text]
    parts = [part for part in text.split("\r") if part.strip()]
    if not parts:
        return [""]
    return [part for part in parts[:-1] if not _PROGRESS.search(part)] + [parts[-1]]


def _record(text: str, number: int, dress: str | None, grammar: LogGrammar) -> Line:
    process, pid, level, time, file, text, prefix = grammar.records.head(text)
    if prefix and dress is not None:
        dress += prefix
    if level is not None:
        message = text.rstrip()
        hearsay = worded_by_a_client(level, file, message, grammar.clients)
        return Line(number, process, pid, level, time, file, message, hearsay, dress)
    if rank := _RANK.match(text):
        process, text = process or rank[1], text[rank.end() :]
    if (" [" in text or text[:1] in "[2IWEF") and (native := _NATIVE.match(text)):
        return _of_library(text, number, process, pid, native, dress, grammar)
    message = text.rstrip()
    hearsay = worded_by_a_client(None, None, message, grammar.clients)
    return Line(number, process, pid, None, None, None, message, hearsay, dress)


def _of_library(
    text: str,
    number: int,
    process: str | None,
    pid: int | None,
    prefix: re.Match[str],
    dress: str | None,
    grammar: LogGrammar,
) -> Line:
    """A record of a library that does not log through Python."""
    own = prefix["nccl"] or prefix["pid"]
    level = prefix["level"] or _LETTERS.get(prefix["glog"] or prefix["ray"] or "")
    file = prefix["file"] or prefix["at"] or prefix["by"]
    name = process or prefix["name"]
    pid = pid or (int(own) if own else None)
    message = text[prefix.end() :].rstrip()
    hearsay = worded_by_a_client(level, file, message, grammar.clients)
    return Line(number, name, pid, level, None, file, message, hearsay, dress)
