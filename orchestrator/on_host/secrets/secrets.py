"""What in this text, or in this value, must never be shown, logged or written to a file?

The one rule set for plan, journal, history, bundle, report and errors, on both ends of the connection: secrets that
are known by their value, secrets of a known form (tokens, PEM blocks), and what stands where a secret belongs
(user information and signed parameters of URLs, headers, settings and options by their name): `places.py` finds them in a
text, `blocks.py` over its lines; `forms.py` and `names.py` say how they look.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from orchestrator.on_host.secrets import blocks, forms, places
from orchestrator.on_host.secrets.forms import STARS
from orchestrator.on_host.secrets.names import is_secret

__all__ = [
    "STARS",
    "brief",
    "forget",
    "holds_secret",
    "is_secret",
    "redact",
    "redact_lines",
    "redacted",
    "remember",
]

SHORTEST = 6
"""Characters of a secret that is looked for by its value: a shorter one is part of ordinary words."""
NAMES_ONLY = "secrets"
"""The key under which a record has the names of secrets."""

_known: dict[str, None] = {}
_anywhere: re.Pattern[str] | None = None


def remember(value: str) -> None:
    """Take note of a secret by its value: wherever it turns up from now on, plain or encoded, it is hidden."""
    global _anywhere
    new = [secret for secret in (value, *_logins(value)) if len(secret) >= SHORTEST and secret not in _known]
    if not new:
        return
    for secret in new:
        _known.update(dict.fromkeys(_shapes(secret)))
    _anywhere = re.compile("|".join(re.escape(secret) for secret in sorted(_known, key=len, reverse=True)))


def forget() -> None:
    """Know no secret by its value: another command begins."""
    global _anywhere
    _known.clear()
    _anywhere = None


def _logins(url: str) -> Iterator[str]:
    """The passwords in a URL, and what is a token where there is none."""
    from urllib.parse import unquote  # here and below: most commands know no secret, and start without it

    for match in forms.USER_INFO.pattern.finditer(url) if "://" in url else ():
        name, _, password = match["user"].removesuffix("@").partition(":")
        yield from (password or name, unquote(password or name))


def _shapes(value: str) -> Iterator[str]:
    """The ways in which a value is written down: quoted for a URL, for JSON, for Python, in base64 at any offset."""
    import base64
    from urllib.parse import quote, quote_plus

    yield from (value, quote(value, safe=""), quote(value), quote_plus(value))
    yield from (json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1], repr(value)[1:-1])
    raw = value.encode("utf-8", "surrogateescape")
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        for offset in range(3):
            text = encode(b"\0" * offset + raw).decode("ascii").rstrip("=")
            core = text[-(-offset * 8 // 6) : len(text) - (1 if (offset + len(raw)) % 3 else 0)]
            if len(core) >= 8:
                yield core


def redact(text: str) -> str:
    """The text with stars for every secret in it; one that colours cut in two, or stand before, is found without them."""
    if "\x1b" in text:
        bare = forms.COLOUR.pattern.sub("", forms.COLOUR_BEFORE.pattern.sub(" ", text))
        if (shown := _redact(bare)) != bare:
            return shown
    return _redact(text)


def _redact(text: str) -> str:
    if _anywhere is not None:
        text = _anywhere.sub(STARS, text)
    if "\n" in text or forms.PEM in text:
        text = "\n".join(blocks.hidden(text.split("\n")))
    return places.hidden(forms.PEM_ALONE.pattern.sub(STARS, text) if len(text) >= 64 else text)


def redact_lines(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Lines of a log with stars for every secret in them, bytes that are no UTF-8 left as they are."""
    texts = (line.decode("utf-8", "surrogateescape") for line in lines)
    for text in blocks.hidden(texts):
        yield redact(text).encode("utf-8", "surrogateescape")


def redacted(value: Any) -> Any:
    """A JSON value with stars for every secret in it: in its texts, and what stands under the name of a secret."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {redact(str(key)): _beside(str(key), item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return _items(value)
    return value


def holds_secret(text: str) -> bool:
    """Whether something in the text is a secret by its form or its place."""
    return redact(text) != text


def brief(text: str, room: int) -> str:
    """The beginning of a text, for a message: hidden first, for half a secret has no form."""
    return redact(text)[:room]


def _beside(name: str, value: Any) -> Any:
    if name == NAMES_ONLY or isinstance(value, (bool, Mapping)) or not value:
        return redacted(value)
    if not is_secret(name):
        without_scheme = isinstance(value, str) and "proxy" in name.lower()  # user:password@proxy:3128
        return redact(f"{name}={value}")[len(name) + 1 :] if without_scheme else redacted(value)
    if isinstance(value, (list, tuple)):
        return [_beside(name, item) for item in value]
    return STARS if places.tells(name, "':", f"'{value}'") else redacted(value)


def _items(values: Iterable[Any]) -> list[Any]:
    """An argument list: what follows an option that takes a secret is one."""
    shown: list[Any] = []
    option = ""
    for value in values:
        after = isinstance(value, str) and option.startswith("-") and "=" not in option and is_secret(option)
        if after and shown[-1] is STARS and value.startswith("-"):
            after = False
        shown.append(STARS if after else redacted(value))
        if not (after and option in forms.SEVERAL):
            option = value if isinstance(value, str) else ""
    return shown
