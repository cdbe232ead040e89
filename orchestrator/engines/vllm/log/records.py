"""How does vLLM dress a record of its log, and what of it did two processes write at once?"""

from __future__ import annotations

import re

from orchestrator.engines.log_grammar import Head, Records

_PROCESS = re.compile(
    r"\((?P<name>[^()]{0,160}?)(?: \+\w{1,80}| pid=(?P<pid>\d{1,10}))?(?P<ip>, ip=[^()\s]{1,80})?(?:, actor_name=\w{1,160})?\) ?"
)
_OF_RAY = frozenset(("raylet", "autoscaler", "gcs_server"))
"""Processes that are named without a pid."""
_LEVELS = "DEBUG|INFO|WARNING|ERROR|CRITICAL"
_LEVEL_WORDS = tuple(f"{level} " for level in _LEVELS.split("|"))
_LEVEL_FIRST = re.compile(rf"(?:{_LEVELS})[: ]")
_HEADER = re.compile(
    rf"(?P<level>{_LEVELS}) (?P<time>\d\d-\d\d \d\d:\d\d:\d\d) \[?(?P<file>[^\]\[\s:]+:\d+)\] ?"
)
_OPENING = (
    r"\([A-Za-z]\w{0,60}(?: \w{1,20}=\d{1,6}){0,3} pid=\d{1,10}[^()]{0,160}\) "
    rf"|(?:{_LEVELS}) \d\d-\d\d \d\d:\d\d:\d\d "
)
"""A process and its pid, a level and a time."""
_OWN_PREFIX = re.compile(
    rf"(?!(?:{_LEVELS}):)[^\s'\"][^'\"]{{0,78}}? (?=(?:{_LEVELS}) \d\d-\d\d \d\d:\d\d:\d\d \[)"
)
"""What VLLM_LOGGING_PREFIX puts before a record; uvicorn's records have a header of their own, and no prefix quotes."""
_FRONT = ("APIServer", "ApiServer")
"""Processes that print what clients send: none of them speaks for another process."""
_OF_ENGINE = re.compile(r"\((?:Worker|EngineCore|Vllm|Ray)[^()]{0,160} pid=\d{1,10}[^()]{0,160}\) ")
_GLUED = re.compile(
    rf"(?<=.)(?<!\) )(?=\([A-Za-z][^()]{{0,160}} pid=\d{{1,10}}[^()]{{0,160}}\) (?:{_LEVELS}) \d\d-\d\d )"
)


def head(text: str) -> Head:
    """Who wrote a record, and what stands before its message."""
    process: str | None = None
    pid: int | None = None
    while text.startswith("(") and not (process or "").startswith(_FRONT):
        named = _PROCESS.match(text)
        if not named or not (named["pid"] or named["ip"] or named["name"] in _OF_RAY):
            break
        process, pid = named["name"], int(named["pid"]) if named["pid"] else None
        text = text[named.end() :]
    header, prefix = _HEADER.match(text), ""
    if (
        not header
        and " [" in text
        and any(level in text for level in _LEVEL_WORDS)
        and (own := _OWN_PREFIX.match(text))
    ):
        prefix, text = own[0], text[own.end() :]
        header = _HEADER.match(text)
    if header is None:
        return Head(process, pid, None, None, None, text, prefix)
    return Head(process, pid, header["level"], header["time"], header["file"], text[header.end() :], prefix)


def unglue(text: str) -> list[str]:
    """The records of a raw line, mostly one."""
    # most lines are told apart without the regular expression, which costs more than all else here
    first = text.find(" pid=")
    if first < 0 or (text[0] == "(" and text.find(" pid=", first + 1) < 0):
        return [text]
    records: list[str] = []
    for piece in _GLUED.split(text):
        if records and not _may_break_off(records[-1]):
            records[-1] += piece
        else:
            records.append(piece)
    return records


def _may_break_off(record: str) -> bool:
    """Whether another process's record may have been written into the middle of this one.

    An engine's process, or output without a header: not an API server, which repeats what clients send, and not what
    quotes something. A glued line that cannot be told from a forged one stays one line.
    """
    if record.count("'") % 2 or record.count('"') % 2:
        return False
    headed = record.startswith("(") or _LEVEL_FIRST.match(record)
    return not headed or _OF_ENGINE.match(record) is not None


RECORDS = Records(head, _OPENING, unglue=unglue)
