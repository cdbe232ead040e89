"""Does the name of a variable, a key or an option say that its value must never be shown?"""

from __future__ import annotations

import functools
import re


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_SURE = (
    "password",
    "passwords",
    "passwd",
    "passphrase",
    "passcode",
    "secret",
    "secrets",
    "credential",
    "credentials",
    "creds",
    "apikey",
    "apikeys",
    "accesskey",
    "secretkey",
    "privatekey",
    "authtoken",
    "accesstoken",
    "authkey",
    "requirepass",
    "masterauth",
)
"""Ends of words: PGPASSWORD, clientsecret."""
_LAST = _words("auth authorization cookie cookies dsn sas jwt bearer webhook connstr connectionstring")
_PAIRS = frozenset(
    (before, last)
    for befores, lasts in (
        ("connection conn", "string str"),
        ("database db", "url uri"),
        ("webhook sas", "url uri"),
        ("session", "cookie"),
    )
    for before in befores.split()
    for last in lasts.split()
)
_POINTERS = _words(
    "path file dir folder sock socket location type types mode enabled enable disabled required ttl timeout expiry "
    "expires expiration length len size count limit budget format header headers prefix policy url uri endpoint "
    "provider backend algorithm name names id ids region rate index usage error errors parser threshold py json jsonl yaml yml txt log md safetensors jinja"
)
"""Last words of a name whose value tells where the secret is, or something about it."""
_OF_TEXT = _words(
    "max min num n total per new bos eos pad unk sep cls mask image img video audio vision special additional next "
    "last first start end stop think thinking reasoning prompt output input draft bonus sampled generated accepted "
    "vocab boi eoi speculative spec kv byte bytes placeholder begin decoder encoder timestamp unexpected invalid "
    "current forced suppress eod eot nl newline batched ids lens parallelism pooling classify long cached computed"
)
"""A token beside these is a piece of text, not a secret."""
_OPENING = _words(
    "api access secret private auth account shared signing encryption master license licence service storage ssh admin "
    "client app subscription deploy hf wandb openai anthropic azure aws ngc nvidia"
)
"""A key or a token of these opens something; other lower-case keys find something."""
_FINDING = _words(
    "public cache sort primary foreign partition group hash lookup search map dict state layer weight block index "
    "host hot short num query routing object kv"
)
_PASSES = _words("first second last forward backward compile fusion grad multi single custom pre post")

_LOGINS = _words(
    "db database smtp mail email mysql pg postgres redis ftp http https proxy user ssh sudo root admin ldap auth login "
    "rabbitmq amqp mongo vault ssl tls basic registry docker git hub minio api service account"
)
_SWITCHES = frozenset(("allow", "disable", "enable", "implicit"))


@functools.lru_cache(maxsize=4096)
def is_secret(name: str) -> bool:
    """True for VLLM_API_KEY, HF_TOKEN, DB_PASS, DATABASE_URL, clientSecret and their like.

    TOKENIZERS_PARALLELISM, HF_TOKEN_PATH, max_tokens, AUTHOR and a lower-case cache_key are none.
    """
    words = [word.lower() for word in _WORD.findall(name)]
    if not words:
        return False
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if (before, last) in _PAIRS or (before, last) == ("key", "id"):
        return True
    if last in _POINTERS or _SWITCHES & set(words):
        return False
    shouted = name == name.upper()
    return (
        any(word.endswith(_SURE) for word in words)
        or last in _LAST
        or (last == "pat" and shouted and len(words) > 1)
        or (last == "pwd" and before not in ("", "old"))
        or (last == "pass" and _password(words, shouted))
        or _token(words)
        or _key(words, shouted)
    )


def _password(words: list[str], shouted: bool) -> bool:
    """Whether a name that ends in "pass" is about somebody's password, not about a pass of a compiler."""
    if _PASSES & set(words):
        return False
    return shouted or len(words) == 1 or bool(set(words) & _LOGINS)


def _token(words: list[str]) -> bool:
    if "token" in words:
        return not _OF_TEXT & set(words)
    return "tokens" in words and bool(_OPENING & set(words)) and not _OF_TEXT & set(words)


def _key(words: list[str], shouted: bool) -> bool:
    if "key" not in words and "keys" not in words:
        return False
    if _FINDING & set(words):
        return False
    return shouted or bool(_OPENING & set(words))
