"""Where in a text does a secret stand, by its form or by what stands before it?"""

from __future__ import annotations

import re

from orchestrator.on_host.secrets import forms
from orchestrator.on_host.secrets.forms import STARS
from orchestrator.on_host.secrets.names import is_secret


def hidden(text: str) -> str:
    """The text with stars for what is a secret by its form, or stands where one belongs."""
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
    return f"{match['head']}{STARS}" if is_secret(name) and tells(f"--{name}", "=", value) else match[0]


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
        if value is not None and tells(name, match["gap"], value[0]):
            length = _length(value[0])
            opening, closing = _quotes(value[0][:length])
            pieces += [text[done:begin], opening, STARS, closing]
            done = at = begin + length
    return "".join([*pieces, text[done:]]) if pieces else text


def tells(name: str, gap: str, value: str) -> bool:
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
