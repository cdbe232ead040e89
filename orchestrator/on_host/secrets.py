"""What in this text, or in this value, must never be shown, logged or written to a file?

The one rule set for plan, journal, history, bundle, report and errors, on both ends of the connection: secrets that
are known by their value, secrets of a known form (tokens, PEM blocks), and what stands where a secret belongs
(user information and signed parameters of URLs, headers, settings and options by their name). Every expression is
linear: none backtracks over more than a bounded stretch.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from orchestrator.on_host.secret_names import is_secret

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


class _Rule:
    """An expression that is compiled when it is first needed: most programs on a host need none."""

    def __init__(self, text: str, flags: int = 0) -> None:
        self._text = text
        self._flags = flags

    @functools.cached_property
    def pattern(self) -> re.Pattern[str]:
        return re.compile(self._text, self._flags)


def _each(text: str) -> tuple[str, ...]:
    return tuple(text.split())


NAMES_ONLY = "secrets"
"""The key under which a record has the names of secrets."""

_START = r"(?:(?<![A-Za-z0-9_-])|(?<=%[0-9A-Fa-f]{2})|(?<=\\[nrt]))"
_MIXED = r"(?=[A-Za-z_-]{0,120}[0-9A-Z])"
_FORMS = _Rule(
    _START
    + r"(?:hf_(?:(?=[a-z]{0,60}[0-9A-Z])[A-Za-z0-9]{8,}|[a-z]{16,})|api_org_[A-Za-z0-9]{16,}"
    + r"|gh[pousr]_[A-Za-z0-9]{12,}|github_pat_[A-Za-z0-9_]{12,}|gl(?:pat|dt|rt|ptt|ft|cbt|imt|agent|soat)-[A-Za-z0-9_.-]{16,}"
    + r"|sk-(?:" + _MIXED + r"[A-Za-z0-9_-]{12,}|[a-z]{20,})|[spr]k_(?:live|test)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9+/=]{16,}"
    + r"|xox[a-z]-[A-Za-z0-9-]{8,}|xapp-[A-Za-z0-9-]{10,}"
    + r"|A(?:KIA|SIA|BIA|CCA|ROA|IDA)[A-Z0-9]{12,}|AIza[A-Za-z0-9_-]{20,}|ya29\.[A-Za-z0-9_-]{16,}|GOCSPX-[A-Za-z0-9_-]{10,}"
    + r"|eyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?"
    + r"|npm_[A-Za-z0-9]{16,}|pypi-" + _MIXED + r"[A-Za-z0-9_-]{16,}|nvapi-[A-Za-z0-9_-]{12,}|dckr_[a-z]{2,4}_[A-Za-z0-9_-]{8,}"
    + r"|r8_[A-Za-z0-9]{16,}|gsk_[A-Za-z0-9]{16,}|xai-[A-Za-z0-9]{20,}|pplx-[A-Za-z0-9]{20,}|lsv2_[a-z]{2}_[A-Za-z0-9_]{16,}"
    + r"|hvs\.[A-Za-z0-9_-]{16,}|dapi[0-9a-f]{32}|shp[a-z]{2}_[A-Za-z0-9]{20,}|wandb_v1_[A-Za-z0-9_]{16,}"
    + r"|SG\.[A-Za-z0-9_-]{12,}\.[A-Za-z0-9_-]{12,}|AGE-SECRET-KEY-[A-Z0-9]{20,})"
)  # fmt: skip
_PREFIXES = _each(
    "hf_ api_org_ ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- gldt- glrt- glptt- glft- glcbt- glimt- glagent- glsoat- sk- "
    "k_live_ k_test_ whsec_ xox xapp- AKIA ASIA ABIA ACCA AROA AIDA AIza ya29. GOCSPX- eyJ npm_ pypi- nvapi- dckr_ r8_ gsk_ "
    "xai- pplx- lsv2_ hvs. dapi shp wandb_v1_ SG. AGE-SECRET-KEY-"
)
"""One of these is in whatever `_FORMS` finds."""
_HOOKS = _Rule(
    r"(?<=hooks\.slack\.com/)[a-z]{1,12}/[^\s'\"]+|(?<=/api/webhooks/)[^\s'\"]+|(?<=/webhookb2/)[^\s'\"]+"
    r"|(?<=api\.telegram\.org/bot)[^\s'\"/]+"
)

_USER_INFO = _Rule(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]{0,20})(?P<mark>:(?:\\{0,2}/){1,3})"
    r"(?P<user>[^\s/?#'\"<>]{1,2000}@|[^\s/:@\[?#'\"]{0,200}:(?!\d{1,5}(?:[/?#,;]|\Z))[^\s'\"@]{1,400}@(?=[A-Za-z0-9\[]))"
)
_LOGS_IN_BY_KEY = _Rule(r"(?:.*\+)?(?:ssh|sftp|rsync|scp|git)", re.IGNORECASE)
"""Schemes in which a name without a password is a login, not a token."""
_CODED_USER_INFO = _Rule(
    r"(?P<mark>%(?:25)?3A%(?:25)?2F%(?:25)?2F)(?:[^\s'\"&%]|%(?!(?:25)?2F|(?:25)?40)){1,400}(?P<at>%(?:25)?40)",
    re.IGNORECASE,
)
_BARE_PROXY = _Rule(
    r"(?i:(?P<name>proxy\w{0,20}['\"]?\s?[=:]\s?['\"]?))[^\s'\"@/:]{1,100}:[^\s'\"@/]{1,200}(?=@)"
)
_BARE_LOGIN = _Rule(
    r"(?P<name>(?<!\S)(?:-u|--user|--proxy-user|-U)(?:\s{1,3}|=)['\"]?)[^\s'\":/]{1,100}:[^\s'\"]{1,400}(?=['\"\s]|\Z)"
)
_PARAMETER = _Rule(
    r"(?P<head>(?:[?&;]|%(?:25)?26|%(?:25)?3F|\\u0026|amp;)"
    r"(?:x-(?:amz|goog|oss|cos|ms)-(?:signature|credential|security-token|algorithm-key)|signature|sig|awsaccesskeyid|"
    r"googleaccessid|ossaccesskeyid|key-pair-id|policy|hdnts|hdnea|__token__|x-xet-[a-z-]{1,30}|[a-z_.-]{0,30}"
    r"(?:token|key|secret|password|passwd|passphrase|auth|jwt|pwd|pass|sas|credential))"
    r"(?:=|%(?:25)?3D))(?:[^&\s'\"<>#\\%]|%(?!(?:25)?26))*",
    re.IGNORECASE,
)

_AUTHORIZATION = _Rule(
    r"(?P<head>authorization\\{0,3}['\"]?\s{0,3}[:=,]\s{0,3}b?\\{0,3}(?P<quote>['\"])?)"
    r"(?P<scheme>(?:bearer|basic|token|digest|apikey|api-key|negotiate|aws4-hmac-sha256|key)\s{1,3})?"
    r"(?P<rest>(?(quote)[^'\"\\\r\n]|[^\s'\",\\]){3,})",
    re.IGNORECASE,
)
_AUTHORIZATION_IN_QUOTES = _Rule(r"(?P<head>(?<=['\"])authorization:\s{0,3})[^'\"\r\n]{3,}", re.IGNORECASE)
_BEARER = _Rule(r"(?P<head>\bbearer(?:\s{1,3}|%20|\+))(?P<rest>[A-Za-z0-9._~+/=%-]{6,})", re.IGNORECASE)
_BASIC = _Rule(
    r"(?P<head>\b[Bb]asic )(?=[A-Za-z+/]{0,400}[A-Z0-9=])(?=[A-Z0-9+/=]{0,400}[a-z])[A-Za-z0-9+/_-]{8,}={0,2}"
)
_COOKIE = _Rule(
    r"(?P<head>cookie2?\\{0,3}['\"]?\s{0,3}[:=,]\s{0,3}b?\\{0,3}['\"]?)(?=[^\s'\";,=\\]{1,200}=)[^'\"\r\n\\]{3,}",
    re.IGNORECASE,
)
_NETRC = _Rule(r"(?P<head>\blogin\s{1,4}\S{1,100}\s{1,4}password\s{1,4})\S+")
_TYPED = _Rule(
    r"(?P<head>\b(?:sshpass|login)\b[^\n'\"]{0,80}?\s(?:-p[ =]?|--password[ =]))\S+"
    r"|(?P<alone>^[ \t]{0,20}password[ \t]{1,8})\S+[ \t]*$",
    re.MULTILINE,
)
_WANDB = _Rule(r"(?P<head>\bwandb\b[^\n]{0,60}?)(?<![0-9a-f])[0-9a-f]{40}(?![0-9a-f])", re.IGNORECASE)
_HEADED = (
    (_AUTHORIZATION_IN_QUOTES, "authorization"),
    (_AUTHORIZATION, "authorization"),
    (_BEARER, "bearer"),
    (_COOKIE, "cookie"),
    (_NETRC, "password"),
)

_NAME = _Rule(
    r"(?:token|passw|passphrase|passcode|pass(?![a-z])|pwd(?![a-z])|secret|cred(?:s|ential)|key(?:s|id)?(?![a-z])|auth|"
    r"cookie|dsn(?![a-z])|sas(?![a-z])|pat(?![a-z])|jwt|bearer|webhook|conn(?:ection)?[_.-]?str|(?:database|db)[_.-]?ur[il])"
    r"(?P<tail>[a-z0-9_.-]{0,60})"
    r"(?P<gap>\\{0,3}['\"]?(?:[ \t]{0,8}(?:=>|:=|[=:]|%3d)[ \t]{0,8}|,\s{0,2}(?:\\{0,3}['\"]value\\{0,3}['\"]\s{0,2}[:=]\s{0,2})?|"
    r"\s{1,40}value\s?:\s{1,2})\\{0,3})(?=[\['\"]|[^\s,;)\]}])",
)
_WORDS = _each(
    "token pass pwd secret cred key auth cookie dsn sas pat jwt bearer webhook conn database db_ db. db-"
)
"""One of these is in whatever `_NAME` finds; looking for them is cheap."""
_OPTION = _Rule(
    r"(?P<head>(?<![\w-])--?(?P<name>[A-Za-z][A-Za-z0-9_.-]{1,60})\s{1,3})(?P<value>[^\s'\"-][^\s'\"]*|'[^'\n]*'|\"[^\"\n]*\")"
)
_VALUE = _Rule(
    r"""\[[^\]\n]*\]|[bBrRuUfF]{0,2}"(?:[^"\\\n]|\\.)*"?|[bBrRuUfF]{0,2}'(?:[^'\\\n]|\\.)*'?|[^\s'"]+"""
)
_QUOTED_WITHIN = _Rule(r"""['"][^'"\\\n]*\\{0,3}['"]?|[^\s'"\\]+""")
"""A value within a text that is itself quoted: \\"value\\"."""
_NAME_ABOVE = _Rule(r"\bname['\"]?\s?[:=]\s?['\"]?([A-Za-z0-9_.-]{1,80})['\"]?,?\s{0,9}$")
_VALUE_BELOW = _Rule(r"\bvalue['\"]?\s?[:=]\s?(?=\S)")
_QUOTES = _Rule(r"[bBrRuUfF]{0,2}(?P<quote>['\"])")
_SMALL = {ord(letter): letter.lower() for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}
_NAMED = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
_NOTHING = frozenset(
    (
        "",
        "none",
        "null",
        "nil",
        "true",
        "false",
        "undefined",
        "[]",
        "{}",
        "{",
        "()",
        "...",
        "str",
        "string",
        "not",
        "unset",
    )
)
_WEAK = frozenset(
    ("token", "auth", "pass", "cookie", "sas", "jwt", "dsn", "bearer", "secret", "credential", "webhook")
)
"""Words of ordinary sentences: `unexpected token: comma` shows none."""
_CREDENTIAL = _Rule(r"(?=[^\s]{0,200}\d)(?=[^\s]{0,200}[A-Za-z])[^\s()\[\]<>{}]{8,}|[A-Za-z0-9_+/=-]{24,}")

_PEM = "-----BEGIN "
_PEM_END = "-----END "
_PEM_BODY = _Rule(r"[A-Za-z0-9+/]+={0,2}(?:\\[rn])*|(?:Proc-Type|DEK-Info):.*")
_PEM_ALONE = _Rule(
    r"(?<![A-Za-z0-9+/_.-])(?=[a-z0-9+/]{0,63}[A-Z])(?=[A-Z0-9+/]{0,63}[a-z])(?=[A-Za-z+/]{0,63}\d)"
    r"[A-Za-z0-9+/]{64}(?:[A-Za-z0-9+/]{6})?(?![A-Za-z0-9+/_.-])"
)
"""A whole line of a block whose beginning is not in sight."""

_known: dict[str, None] = {}
_anywhere: re.Pattern[str] | None = None


def remember(value: str) -> None:
    """Take note of a secret by its value: wherever it turns up from now on, plain or encoded, it is hidden."""
    global _anywhere
    new = [one for one in (value, *_logins(value)) if len(one) >= SHORTEST and one not in _known]
    if not new:
        return
    for one in new:
        _known.update(dict.fromkeys(_shapes(one)))
    _anywhere = re.compile("|".join(re.escape(one) for one in sorted(_known, key=len, reverse=True)))


def forget() -> None:
    """Know no secret by its value: another command begins."""
    global _anywhere
    _known.clear()
    _anywhere = None


def _logins(url: str) -> Iterator[str]:
    """The passwords in a URL, and what is a token where there is none."""
    from urllib.parse import unquote  # here and below: most commands know no secret, and start without it

    for found in _USER_INFO.pattern.finditer(url) if "://" in url else ():
        name, _, password = found["user"].removesuffix("@").partition(":")
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
    """The text with stars for every secret in it."""
    if _anywhere is not None:
        text = _anywhere.sub(STARS, text)
    if "\n" in text or _PEM in text:
        text = "\n".join(_over_lines(text.split("\n")))
    return _without_forms(_PEM_ALONE.pattern.sub(STARS, text) if len(text) >= 64 else text)


def redact_lines(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Lines of a log with stars for every secret in them, bytes that are no UTF-8 left as they are."""
    texts = (line.decode("utf-8", "surrogateescape") for line in lines)
    for text in _over_lines(texts):
        shown = _anywhere.sub(STARS, text) if _anywhere is not None else text
        yield _without_forms(shown).encode("utf-8", "surrogateescape")


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
    if isinstance(value, str) and "proxy" in name.lower():  # user:password@proxy:3128 has no scheme
        return redact(f"{name}={value}")[len(name) + 1 :]
    if name == NAMES_ONLY or isinstance(value, (bool, Mapping)) or not value or not is_secret(name):
        return redacted(value)
    if isinstance(value, (list, tuple)):
        return [_beside(name, item) for item in value]
    return STARS if _tells(name, "':", f"'{value}'") else redacted(value)


def _items(values: Iterable[Any]) -> list[Any]:
    """An argument list: what follows an option that takes a secret is one."""
    shown = []
    option = ""
    for value in values:
        after = isinstance(value, str) and option.startswith("-") and "=" not in option and is_secret(option)
        shown.append(STARS if after else redacted(value))
        option = value if isinstance(value, str) else ""
    return shown


def _without_forms(text: str) -> str:
    if "@" in text:
        text = _USER_INFO.pattern.sub(_hidden_user, text)
    if "%" in text:
        text = _CODED_USER_INFO.pattern.sub(rf"\g<mark>{STARS}\g<at>", text)
    if "@" in text:
        text = _BARE_PROXY.pattern.sub(rf"\g<name>{STARS}", text)
    lowered = _lowered(text)
    if " -u" in lowered or "-user" in lowered:
        text = _BARE_LOGIN.pattern.sub(rf"\g<name>{STARS}", text)
    if "&" in text or "?" in text or "%" in text or ";" in text:
        text = _PARAMETER.pattern.sub(rf"\g<head>{STARS}", text)
    for rule, word in _HEADED:
        if word in lowered:
            text = rule.pattern.sub(_hidden_header, text)
    if "basic " in lowered:
        text = _BASIC.pattern.sub(rf"\g<head>{STARS}", text)
    if "sshpass" in text or "login" in text or "password" in text:
        text = _TYPED.pattern.sub(lambda found: f"{found['head'] or found['alone']}{STARS}", text)
    if "wandb" in lowered:
        text = _WANDB.pattern.sub(rf"\g<head>{STARS}", text)
    if "hooks" in text or "/bot" in text:
        text = _HOOKS.pattern.sub(STARS, text)
    if any(prefix in text for prefix in _PREFIXES):
        text = _FORMS.pattern.sub(STARS, text)
    if not any(word in lowered for word in _WORDS):
        return text
    if "--" in text:
        text = _OPTION.pattern.sub(_hidden_option, text)
    return _without_named(text)


def _lowered(text: str) -> str:
    """As long as the text: each place in the one is the same place in the other."""
    return text.lower() if text.isascii() else text.translate(_SMALL)


def _hidden_user(found: re.Match[str]) -> str:
    user = found["user"]
    if ":" not in user and _LOGS_IN_BY_KEY.pattern.fullmatch(found["scheme"]):
        return found[0]
    return f"{found['scheme']}{found['mark']}{STARS}@"


def _hidden_header(found: re.Match[str]) -> str:
    parts = found.groupdict()
    rest = parts.get("rest") or ""
    if found.re is _BEARER.pattern and not re.search(r"[0-9.=_/+]|[a-z][A-Z]|.{24}", rest):
        return found[0]  # "bearer authentication" is a sentence
    if found.re is _AUTHORIZATION.pattern and not (
        parts["scheme"] or parts["quote"] or _CREDENTIAL.pattern.match(rest)
    ):
        return found[0]  # so is "authorization: failed"
    return f"{parts['head']}{parts.get('scheme') or ''}{STARS}"


def _hidden_option(found: re.Match[str]) -> str:
    name, value = found["name"], found["value"]
    return f"{found['head']}{STARS}" if is_secret(name) and _tells(f"--{name}", "=", value) else found[0]


def _without_named(text: str) -> str:
    """Values of settings, options and keys whose name says that they are secret."""
    pieces = []
    done = at = 0
    lowered = _lowered(text)
    while (found := _NAME.pattern.search(lowered, at)) is not None:
        start = found.start()
        while start > done and text[start - 1] in _NAMED and found.start() - start < 64:
            start -= 1
        name = text[start : found.end("tail")].rstrip(".-")
        at = found.end("tail")
        if not is_secret(name):
            continue
        begin = found.end()
        value = (_QUOTED_WITHIN if text[begin - 1] == "\\" else _VALUE).pattern.match(text, begin)
        if value is not None and _tells(name, found["gap"], value[0]):
            length = _length(value[0])
            opening, closing = _quotes(value[0][:length])
            pieces += [text[done:begin], opening, STARS, closing]
            done = at = begin + length
    return "".join([*pieces, text[done:]]) if pieces else text


def _tells(name: str, gap: str, value: str) -> bool:
    """Whether the value behind the name is one of a secret, not a count, a type or a word of a sentence."""
    bare = value.strip("bBrRuUfF\\'\"[](),;} ") if value[:1] in "'\"[" else value.strip(",;)]}.")
    low, sign = name.lower(), gap.strip("\\'\" \t\n")
    if bare.lower() in _NOTHING or bare.startswith((STARS, "$", "SecretStr(")) or not bare.strip("*"):
        return False
    if bare.isdigit() and len(bare) < (3 if "pass" in low or "secret" in low else 8):
        return False
    if (bare.startswith("<") and "token" in low) or low.endswith("authorization"):
        return False  # <|endoftext|>; a header is looked at by itself
    quoted = "'" in gap or '"' in gap
    if sign == ",":  # an argument list, or headers as pairs
        return name.startswith("--") or (quoted and "-" in name)
    if low in _WEAK and not quoted and "=" not in gap:
        return bool(_CREDENTIAL.pattern.match(bare))
    return True


def _length(value: str) -> int:
    """How much of what was read as a value is the value: brackets around it are not."""
    if value[:1] == "[" or "'" in value[:3] or '"' in value[:3]:
        return len(value)
    return len(value.rstrip(",;)]}.")) or len(value)


def _quotes(value: str) -> tuple[str, str]:
    """The quotes around a value: they stay, so that what it stands in can still be read."""
    found = _QUOTES.pattern.match(value)
    if found is None:
        return "", ""
    closed = re.search(rf"\\{{0,3}}{found['quote']}\Z", value[found.end() :])
    return found[0], closed[0] if closed else ""


def _over_lines(lines: Iterable[str]) -> Iterator[str]:
    """Lines without the secrets that reach over more than one: PEM blocks, and a value below its name."""
    named = False
    for line in _without_pem(lines):
        if named and (value := _VALUE_BELOW.pattern.search(line)) is not None:
            line = f"{line[: value.end()]}{STARS}{line[len(line.rstrip()) :]}"
        name = _NAME_ABOVE.pattern.search(line) if "name" in line else None
        named = name is not None and is_secret(name[1])
        yield line


def _without_pem(lines: Iterable[str]) -> Iterator[str]:
    """Lines without what stands in PEM blocks, also where each line has a prefix or a block stands in one line."""
    left = 0
    for line in lines:
        if _PEM in line:
            line, left = _opened(line)
        elif left:
            body = line.rstrip("\r\n")
            end = line[len(body) :]
            last = body.split()[-1] if body.strip() else ""
            if _PEM_END in line:
                line, left = body[: body.find(_PEM_END)] + STARS + end, 0
            elif last and _PEM_BODY.pattern.fullmatch(last.strip("'\",()")):
                line, left = body[: body.rfind(last)] + STARS + end, STRAY_LINES
            else:
                left -= 1
        yield line


def _opened(line: str) -> tuple[str, int]:
    pieces = []
    at = 0
    while (start := line.find(_PEM, at)) >= 0:
        pieces.append(line[at:start] + STARS)
        end = line.find(_PEM_END, start)
        if end < 0:
            tail = line[len(line.rstrip("\r\n")) :]
            return "".join(pieces) + tail, STRAY_LINES
        closing = line.find("-----", end + len(_PEM_END))
        at = closing + 5 if closing >= 0 else len(line.rstrip("\r\n"))
    return "".join(pieces) + line[at:], 0
