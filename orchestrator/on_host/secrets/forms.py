"""How does a secret look in a text, and in which places does one stand?

Every expression is linear: none backtracks over more than a bounded stretch (`places.py` and `blocks.py` use them).
"""

from __future__ import annotations

import functools
import re

STARS = "***"
"""What is shown in a secret's place."""


class Rule:
    """An expression that is compiled when it is first needed: most programs on a host need none."""

    def __init__(self, text: str, flags: int = 0) -> None:
        self.text = text
        self._flags = flags

    @functools.cached_property
    def pattern(self) -> re.Pattern[str]:
        return re.compile(self.text, self._flags)


def _each(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_START = r"(?:(?<![A-Za-z0-9_-])|(?<=%[0-9A-Fa-f]{2})|(?<=\\[nrt]))"
_MIXED = r"(?=[A-Za-z_-]{0,120}[0-9A-Z])"
FORMS = Rule(
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
PREFIXES = _each(
    "hf_ api_org_ ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- gldt- glrt- glptt- glft- glcbt- glimt- glagent- glsoat- sk- "
    "k_live_ k_test_ whsec_ xox xapp- AKIA ASIA ABIA ACCA AROA AIDA AIza ya29. GOCSPX- eyJ npm_ pypi- nvapi- dckr_ r8_ gsk_ "
    "xai- pplx- lsv2_ hvs. dapi shp wandb_v1_ SG. AGE-SECRET-KEY-"
)
"""One of these is in whatever `FORMS` finds."""
HOOKS = Rule(
    r"(?<=hooks\.slack\.com/)[a-z]{1,12}/[^\s'\"]+|(?<=/api/webhooks/)[^\s'\"]+|(?<=/webhookb2/)[^\s'\"]+"
    r"|(?<=api\.telegram\.org/bot)[^\s'\"/]+"
)

USER_INFO = Rule(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]{0,20})(?P<mark>:(?:\\{0,2}/){1,3})"
    r"(?P<user>[^\s/?#'\"<>]{1,2000}@|[^\s/:@\[?#'\"]{0,200}:(?!\d{1,5}(?:[/?#,;]|\Z))[^\s'\"@]{1,400}@(?=[A-Za-z0-9\[]))"
)
LOGS_IN_BY_KEY = Rule(r"(?:.*\+)?(?:ssh|sftp|rsync|scp|git)", re.IGNORECASE)
"""Schemes in which a name without a password is a login, not a token."""
CODED_USER_INFO = Rule(
    r"(?P<mark>%(?:25)?3A%(?:25)?2F%(?:25)?2F)(?:[^\s'\"&%]|%(?!(?:25)?2F|(?:25)?40)){1,400}(?P<at>%(?:25)?40)",
    re.IGNORECASE,
)
BARE_PROXY = Rule(
    r"(?i:(?P<name>proxy\w{0,20}['\"]?\s?[=:]\s?['\"]?))[^\s'\"@/:]{1,100}:[^\s'\"@/]{1,200}(?=@)"
)
BARE_LOGIN = Rule(  # `docker run -u 1000:1000` names a user and a group
    r"(?P<name>(?<!\S)(?:-u|--user|--proxy-user|-U)(?:\s{1,3}|=)['\"]?)(?!\d{1,10}:\d{1,10}(?:['\"\s]|\Z))[^\s'\":/]{1,100}:[^\s'\"]{1,400}(?=['\"\s]|\Z)"
)
PARAMETER = Rule(
    r"(?P<head>(?:[?&;]|%(?:25)?26|%(?:25)?3F|\\u0026|amp;)"
    r"(?:x-(?:amz|goog|oss|cos|ms)-(?:signature|credential|security-token|algorithm-key)|signature|sig|awsaccesskeyid|"
    r"googleaccessid|ossaccesskeyid|key-pair-id|policy|hdnts|hdnea|__token__|x-xet-[a-z-]{1,30}|[a-z_.-]{0,30}"
    r"(?:token|key|secret|password|passwd|passphrase|auth|jwt|pwd|pass|sas|credential))"
    r"(?:=|%(?:25)?3D))(?:[^&\s'\"<>#\\%]|%(?!(?:25)?26))*",
    re.IGNORECASE,
)

AUTHORIZATION = Rule(
    r"(?P<head>authorization\\{0,3}['\"]?\s{0,3}[:=,]\s{0,3}b?\\{0,3}(?P<quote>['\"])?)"
    r"(?P<scheme>(?:bearer|basic|token|digest|apikey|api-key|negotiate|aws4-hmac-sha256|key)\s{1,3})?"
    r"(?P<rest>(?(quote)[^'\"\\\r\n]|[^\s'\",\\]){3,})",
    re.IGNORECASE,
)
AUTHORIZATION_IN_QUOTES = Rule(r"(?P<head>(?<=['\"])authorization:\s{0,3})[^'\"\r\n]{3,}", re.IGNORECASE)
BEARER = Rule(r"(?P<head>\bbearer(?:\s{1,3}|%20|\+))(?P<rest>[A-Za-z0-9._~+/=%-]{6,})", re.IGNORECASE)
BASIC = Rule(
    r"(?P<head>\b[Bb]asic )(?=[A-Za-z+/]{0,400}[A-Z0-9=])(?=[A-Z0-9+/=]{0,400}[a-z])[A-Za-z0-9+/_-]{8,}={0,2}"
)
COOKIE = Rule(
    r"(?P<head>cookie2?\\{0,3}['\"]?\s{0,3}[:=,]\s{0,3}b?\\{0,3}['\"]?)(?=[^\s'\";,=\\]{1,200}=)[^'\"\r\n\\]{3,}",
    re.IGNORECASE,
)
NETRC = Rule(r"(?P<head>\blogin\s{1,4}\S{1,100}\s{1,4}password\s{1,4})\S+")
TYPED = Rule(
    r"(?P<head>\b(?:sshpass|login)\b[^\n'\"]{0,80}?\s(?:-p[ =]?|--password[ =]))\S+"
    r"|(?P<alone>^[ \t]{0,20}password[ \t]{1,8})\S+[ \t]*$",
    re.MULTILINE,
)
WANDB = Rule(r"(?P<head>\bwandb\b[^\n]{0,60}?)(?<![0-9a-f])[0-9a-f]{40}(?![0-9a-f])", re.IGNORECASE)
HEADED = (
    (AUTHORIZATION_IN_QUOTES, "authorization"),
    (AUTHORIZATION, "authorization"),
    (BEARER, "bearer"),
    (COOKIE, "cookie"),
    (NETRC, "password"),
)

NAME = Rule(
    r"(?:token|passw|passphrase|passcode|pass(?![a-z])|pwd(?![a-z])|secret|cred(?:s|ential)|key(?:s|id)?(?![a-z])|auth|"
    r"cookie|dsn(?![a-z])|sas(?![a-z])|pat(?![a-z])|jwt|bearer|webhook|conn(?:ection)?[_.-]?str|(?:database|db)[_.-]?ur[il])"
    r"(?P<tail>[a-z0-9_.-]{0,60})"
    r"(?P<gap>\\{0,3}['\"]?(?:[ \t]{0,8}(?:=>|:=|[=:]|%3d)[ \t]{0,8}|,\s{0,2}(?:\\{0,3}['\"]value\\{0,3}['\"]\s{0,2}[:=]\s{0,2})?|"
    r"\s{1,40}value\s?:\s{1,2})\\{0,3})(?=[\['\"]|[^\s,;)\]}])",
)
WORDS = _each(
    "token pass pwd secret cred key auth cookie dsn sas pat jwt bearer webhook conn database db_ db. db-"
)
"""One of these is in whatever `NAME` finds; looking for them is cheap."""
OPTION = Rule(
    r"(?P<head>(?<![\w-])--?(?P<name>[A-Za-z][A-Za-z0-9_.-]{1,60})\s{1,3})(?P<value>[^\s'\"-][^\s'\"]*|'[^'\n]*'|\"[^\"\n]*\")"
)
SEVERAL = ("--api-key", "--api_key")
"""vLLM takes any number of them."""
MORE_KEYS = Rule(
    r"(?P<head>--api[-_]key(?:\s{1,3}|=)\*\*\*)(?:\s{1,3}[^\s'\"-][^\s'\"]{0,400}){1,16}"
    r"|(?P<listed>--api[-_]key['\"],\s?['\"]\*\*\*['\"])(?:,\s?['\"][^'\"-][^'\"]{0,400}['\"]){1,16}"
)
COLOUR = Rule(r"\x1b\[[0-9;:]{0,60}m")
COLOUR_BEFORE = Rule(rf"{COLOUR.text}(?=[A-Za-z]?(?:{'|'.join(map(re.escape, PREFIXES))}))")
"""A colour that parts a secret from the word before it."""
VALUE = Rule(
    r"""\[[^\]\n]*\]|[bBrRuUfF]{0,2}"(?:[^"\\\n]|\\.)*"?|[bBrRuUfF]{0,2}'(?:[^'\\\n]|\\.)*'?|[^\s'"]+"""
)
QUOTED_WITHIN = Rule(r"""['"][^'"\\\n]*\\{0,3}['"]?|[^\s'"\\]+""")
"""A value within a text that is itself quoted: \\"value\\"."""
NAME_ABOVE = Rule(r"\bname['\"]?\s?[:=]\s?['\"]?([A-Za-z0-9_.-]{1,80})['\"]?,?\s{0,9}$")
VALUE_BELOW = Rule(r"\bvalue['\"]?\s?[:=]\s?(?=\S)")
QUOTES = Rule(r"[bBrRuUfF]{0,2}(?P<quote>['\"])")
SMALL = {ord(letter): letter.lower() for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}
NAMED = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
NOTHING = frozenset(
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
        "value",
    )
)
WEAK = frozenset(
    ("token", "auth", "pass", "cookie", "sas", "jwt", "dsn", "bearer", "secret", "credential", "webhook")
)
"""Words of ordinary sentences: `unexpected token: comma` shows none."""
REFERENCE = Rule(r"\$\{?[A-Z][A-Z0-9_]*\}?")
"""A variable's name stands in place of its value."""
CREDENTIAL = Rule(r"(?=[^\s]{0,200}\d)(?=[^\s]{0,200}[A-Za-z])[^\s()\[\]<>{}]{8,}|[A-Za-z0-9_+/=-]{24,}")

PEM = "-----BEGIN "
PEM_END = "-----END "
PEM_BODY = Rule(r"[A-Za-z0-9+/]+={0,2}(?:\\[rn])*|(?:Proc-Type|DEK-Info):.*")
PEM_ALONE = Rule(
    r"(?<![A-Za-z0-9+/_.-])(?=[a-z0-9+/]{0,63}[A-Z])(?=[A-Z0-9+/]{0,63}[a-z])(?=[A-Za-z+/]{0,63}\d)"
    r"[A-Za-z0-9+/]{64}(?:[A-Za-z0-9+/]{6})?(?![A-Za-z0-9+/_.-])"
)
"""A whole line of a block whose beginning is not in sight."""
