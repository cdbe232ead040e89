"""Which secrets reach over more than one line?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from orchestrator.on_host.secrets import forms
from orchestrator.on_host.secrets.forms import STARS
from orchestrator.on_host.secrets.names import is_secret

STRAY_LINES = 16
"""Lines of others that may stand between two of a PEM block: every rank writes into the same log."""


def hidden(lines: Iterable[str]) -> Iterator[str]:
    """Lines without the secrets that reach over more than one: PEM blocks, and a value below its name."""
    named = False
    for line in _without_pem(lines):
        if named and (value := forms.VALUE_BELOW.pattern.search(line)) is not None:
            line = f"{line[: value.end()]}{STARS}{line[len(line.rstrip()) :]}"
        name = forms.NAME_ABOVE.pattern.search(line) if "name" in line else None
        named = name is not None and is_secret(name[1])
        yield line


def _without_pem(lines: Iterable[str]) -> Iterator[str]:
    """Lines without what stands in PEM blocks, also where each line has a prefix or a block stands in one line."""
    left = 0
    for line in lines:
        if forms.PEM in line:
            line, left = _opened(line)
        elif left:
            body = line.rstrip("\r\n")
            end = line[len(body) :]
            last = body.split()[-1] if body.strip() else ""
            if forms.PEM_END in line:
                line, left = body[: body.find(forms.PEM_END)] + STARS + end, 0
            elif last and forms.PEM_BODY.pattern.fullmatch(last.strip("'\",()")):
                line, left = body[: body.rfind(last)] + STARS + end, STRAY_LINES
            else:
                left -= 1
        yield line


def _opened(line: str) -> tuple[str, int]:
    pieces = []
    at = 0
    while (start := line.find(forms.PEM, at)) >= 0:
        pieces.append(line[at:start] + STARS)
        end = line.find(forms.PEM_END, start)
        if end < 0:
            tail = line[len(line.rstrip("\r\n")) :]
            return "".join(pieces) + tail, STRAY_LINES
        closing = line.find("-----", end + len(forms.PEM_END))
        at = closing + 5 if closing >= 0 else len(line.rstrip("\r\n"))
    return "".join(pieces) + line[at:], 0
