"""What in this text, or in this value, must never be shown, logged or written to a file?

The one rule set for plan, journal, history, bundle, report and errors, on both ends of the connection: secrets that
are known by their value, secrets of a known form (tokens, PEM blocks), and what stands where a secret belongs
(user information and signed parameters of URLs, headers, settings and options by their name). `forms.py` and
`names.py` say how they look.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from orchestrator.on_host.secrets import forms
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

STARS = "***"
SHORTEST = 6
"""Characters of a secret that is looked for by its value: a shorter one is part of ordinary words."""
STRAY_LINES = 16
"""Lines of others that may stand between two of a PEM block: every rank writes into the same log."""
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
        text = "\n".join(_over_lines(text.split("\n")))
    return _without_forms(forms.PEM_ALONE.pattern.sub(STARS, text) if len(text) >= 64 else text)


def redact_lines(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Lines of a log with stars for every secret in them, bytes that are no UTF-8 left as they are."""
    texts = (line.decode("utf-8", "surrogateescape") for line in lines)
    for text in _over_lines(texts):
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
    return STARS if _tells(name, "':", f"'{value}'") else redacted(value)


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


def _without_forms(text: str) -> str:
    if "@" in text:
        text = forms.USER_INFO.pattern.sub(_hidden_user, text)
    if "%" in text:
        text = forms.CODED_USER_INFO.pattern.sub(rf"\g<mark>{STARS}\g<at>", text)
    if "@" in text:
        text = forms.BARE_PROXY.pattern.sub(rf"\g<name>{STARS}", text)
    lowered = _lowered(text)
    if " -u" in lowered or "-user" in lowered:
        text = forms.BARE_LOGIN.pattern.sub(rf"\g<name>{STARS}", text)
    if "&" in text or "?" in text or "%" in text or ";" in text:
        text = forms.PARAMETER.pattern.sub(rf"\g<head>{STARS}", text)
    for rule, word in forms.HEADED:
        if word in lowered:
            text = rule.pattern.sub(_hidden_header, text)
    if "basic " in lowered:
        text = forms.BASIC.pattern.sub(rf"\g<head>{STARS}", text)
    if "sshpass" in text or "login" in text or "password" in text:
        text = forms.TYPED.pattern.sub(lambda match: f"{match['head'] or match['alone']}{STARS}", text)
    if "wandb" in lowered:
        text = forms.WANDB.pattern.sub(rf"\g<head>{STARS}", text)
    if "hooks" in text or "/bot" in text:
        text = forms.HOOKS.pattern.sub(STARS, text)
    if any(prefix in text for prefix in forms.PREFIXES):
        text = forms.FORMS.pattern.sub(STARS, text)
    if not any(word in lowered for word in forms.WORDS):
        return text
    if "--" in text:
        text = forms.OPTION.pattern.sub(_hidden_option, text)
    text = _without_named(text)
    if "vllm" in lowered and "--api" in lowered:
        text = forms.MORE_KEYS.pattern.sub(_hidden_keys, text)
    return text


def _lowered(text: str) -> str:
    """As long as the text: each place in the one is the same place in the other."""
    return text.lower() if text.isascii() else text.translate(forms.SMALL)


def _hidden_user(match: re.Match[str]) -> str:
    user = match["user"]
    if ":" not in user and forms.LOGS_IN_BY_KEY.pattern.fullmatch(match["scheme"]):
        return match[0]
    return f"{match['scheme']}{match['mark']}{STARS}@"


def _hidden_header(match: re.Match[str]) -> str:
    parts = match.groupdict()
    rest = parts.get("rest") or ""
    if match.re is forms.BEARER.pattern and not re.search(r"[0-9.=_/+]|[a-z][A-Z]|.{24}", rest):
        return match[0]  # "bearer authentication" is a sentence
    if match.re is forms.AUTHORIZATION.pattern and not (
        parts["scheme"] or parts["quote"] or forms.CREDENTIAL.pattern.match(rest)
    ):
        return match[0]  # so is "authorization: failed"
    return f"{parts['head']}{parts.get('scheme') or ''}{STARS}"


def _hidden_option(match: re.Match[str]) -> str:
    name, value = match["name"], match["value"]
    return f"{match['head']}{STARS}" if is_secret(name) and _tells(f"--{name}", "=", value) else match[0]


def _hidden_keys(match: re.Match[str]) -> str:
    return f"{match['head']} {STARS}" if match["head"] else f"{match['listed']}, '{STARS}'"


def _without_named(text: str) -> str:
    """Values of settings, options and keys whose name says that they are secret."""
    pieces = []
    done = at = 0
    lowered = _lowered(text)
    while (match := forms.NAME.pattern.search(lowered, at)) is not None:
        start = match.start()
        while start > done and text[start - 1] in forms.NAMED and match.start() - start < 64:
            start -= 1
        name = text[start : match.end("tail")].rstrip(".-")
        at = match.end("tail")
        if not is_secret(name):
            continue
        begin = match.end()
        value = (forms.QUOTED_WITHIN if text[begin - 1] == "\\" else forms.VALUE).pattern.match(text, begin)
        if value is not None and _tells(name, match["gap"], value[0]):
            length = _length(value[0])
            opening, closing = _quotes(value[0][:length])
            pieces += [text[done:begin], opening, STARS, closing]
            done = at = begin + length
    return "".join([*pieces, text[done:]]) if pieces else text


def _tells(name: str, gap: str, value: str) -> bool:
    """Whether the value behind the name is one of a secret, not a count, a type or a word of a sentence."""
    opening, closing = _quotes(value)
    bare = value[len(opening) : len(value) - len(closing)] if opening else value.strip("[]'\" ,;)}.")
    low, sign = name.lower(), gap.strip("\\'\" \t\n")
    if bare.lower() in forms.NOTHING or bare.startswith((STARS, "SecretStr(")) or not bare.strip("*"):
        return False
    if forms.REFERENCE.pattern.fullmatch(bare):
        return False
    if bare.isdigit() and len(bare) < (3 if "pass" in low or "secret" in low else 8):
        return False
    if (bare.startswith("<") and "token" in low) or low.endswith("authorization"):
        return False  # <|endoftext|>; a header is looked at by itself
    quoted = "'" in gap or '"' in gap
    if sign == ",":  # an argument list, or headers as pairs
        return name.startswith("--") or (quoted and "-" in name)
    if low in forms.WEAK and not quoted and "=" not in gap:
        return bool(forms.CREDENTIAL.pattern.match(bare))
    return True


def _length(value: str) -> int:
    """How much of what was read as a value is the value: brackets around it are not."""
    if value[:1] == "[" or "'" in value[:3] or '"' in value[:3]:
        return len(value)
    return len(value.rstrip(",;)]}.")) or len(value)


def _quotes(value: str) -> tuple[str, str]:
    """The quotes around a value: they stay, so that what it stands in can still be read."""
    match = forms.QUOTES.pattern.match(value)
    if match is None:
        return "", ""
    closed = re.search(rf"\\{{0,3}}{match['quote']}\Z", value[match.end() :])
    return match[0], closed[0] if closed else ""


def _over_lines(lines: Iterable[str]) -> Iterator[str]:
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
