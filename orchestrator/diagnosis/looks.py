"""What is a file that is no log of an engine, by how it looks?"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from orchestrator.diagnosis.lines import Line, cut, read
from orchestrator.engines.log_grammar import LogGrammar

_LINES = 1000
"""Of the beginning."""
_PACKED = (
    (b"\x1f\x8b", "gzip data (zcat unpacks it)"), (b"\x28\xb5\x2f\xfd", "zstd data (zstdcat unpacks it)"),
    (b"\xfd7zXZ", "xz data (xzcat unpacks it)"), (b"BZh", "bzip2 data (bzcat unpacks it)"), (b"PK\x03\x04", "a zip archive"),
    (b"\x7fELF", "a program"), (b"%PDF", "a PDF"), (b"\x89PNG", "a picture"), (b"\xff\xd8\xff", "a picture"),
)  # fmt: skip
_TAR = 257
"""Where a tar archive says that it is one."""
_FORMS = (
    ("an HTML page", 0.2, re.compile(r"^\s{0,80}<(?:!doctype html|/?(?:html|head|body|div|p|a|span|script|meta|li|ul|td|tr)\b)", re.IGNORECASE)),
    ("the kernel's log", 0.5, re.compile(r"^(?:<\d{1,3}>)?\[ {0,8}\d{1,9}\.\d{6}\]|^\S.{0,60} kernel: |^\[[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}\] ")),
    ("an access log of a web server", 0.5, re.compile(r'"(?:GET|POST|HEAD|PUT|DELETE|OPTIONS) \S{1,4000} HTTP/\d(?:\.\d)?" \d{3}\b')),
    ("an error log of nginx", 0.5, re.compile(r"^\d{4}/\d\d/\d\d \d\d:\d\d:\d\d \[\w{1,10}\] \d{1,10}#\d{1,10}: ")),
    ("what nvidia-smi prints", 0.5, re.compile(r"^[|+][-=+| ]{20,}|^\|.{40,200}\|$")),
    ("a diff", 0.1, re.compile(r"^(?:diff --git |--- |\+\+\+ |@@ )")),
    ("source code", 0.25, re.compile(r"^(?:from [\w.]{1,120} import |import [\w.]{1,120}|(?:async )?def \w|class \w|@\w|#include |package \w|func \w|fn \w|#!/| {2,30}(?:return|if|for|self\.|raise|try:|else:|elif|with)\b)")),
    ("a YAML file", 0.7, re.compile(r"^\s{0,40}(?:- )?[\w./-]{1,80}:(?: \S.*)?$|^\s{0,40}(?:- |#)|^---$")),
    ("a Markdown text", 0.2, re.compile(r"^(?:#{1,6} \S|```|[-*] \S|\d{1,3}\. \S|\|[ -]|> )")),
)  # fmt: skip
"""What a file is called of whose lines so large a part has that form."""
_ENDPOINT = re.compile(
    r'^INFO: +\S{1,100} - "[A-Z]{3,8} /(?:v1/|health|metrics|ping|version|tokenize|generate|invocations)'
)
"""What the servers of engines are asked for, in the form of uvicorn's access lines."""
_SOMETHING = "text of another kind"
_LIKE_EXCERPTS = ("a diff", "source code", "a Markdown text", "a YAML file", _SOMETHING)


def of_another_kind(beginning: bytes, grammars: Sequence[LogGrammar]) -> str | None:
    """What a file that begins so is or looks like; None where an engine wrote a line of it."""
    if not beginning.strip():
        return "has nothing but blank lines" if beginning else "is empty"
    packed = next((what for sign, what in _PACKED if beginning.startswith(sign)), None)
    if packed is None and beginning[_TAR : _TAR + 5] == b"ustar":
        packed = "a tar archive"
    if packed is not None:
        return f"looks like {packed}"
    raw = list(cut([beginning]))[:_LINES]
    if any(_of_engine(line, grammar) for grammar in grammars for line in read(raw, grammar)):
        return None
    return f"looks like {_form(beginning, raw)}"


def may_be_an_excerpt(look: str) -> bool:
    """Whether the lines of a failure look so as well: frames like source code, exceptions like YAML."""
    return look.endswith(_LIKE_EXCERPTS)


def _of_engine(line: Line, grammar: LogGrammar) -> bool:
    """Whether it is an engine's by its process, its header, or a sentence of its own; other programs log JSON too."""
    headed = line.level is not None and bool(line.time) and "json" not in (line.dress or "")
    own = (grammar.start.begins, grammar.start.milestones, grammar.pulse.serves, _ENDPOINT)
    return (
        line.process is not None
        or (headed and not grammar.records.plain)
        or any(sentence.search(line.message) for sentence in own)
    )


def _form(beginning: bytes, raw: Sequence[bytes]) -> str:
    if b"\0" in beginning:
        return "binary data"
    if _is_json(beginning):
        return "a JSON document"
    texts = [line.decode("utf-8", "replace") for line in raw if line.strip()]
    for name, part, form in _FORMS:
        if sum(form.search(text) is not None for text in texts) >= part * len(texts):
            return name
    return _SOMETHING


def _is_json(text: bytes) -> bool:
    try:
        return isinstance(json.loads(text), (dict, list))
    except (ValueError, RecursionError):
        return False
