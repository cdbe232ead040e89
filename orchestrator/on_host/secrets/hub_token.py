"""May the Hub's token be sent where a program would ask for files?"""

from __future__ import annotations

import re
from collections.abc import Mapping

from orchestrator.on_host.secrets.secrets import STARS, redact

HUB = "https://huggingface.co"
_HUB_ITSELF = re.compile(
    r"https://(?:[\w.~%:-]*@)?huggingface\.co(?::443)?(?:/[\w.~/-]*)?", re.IGNORECASE | re.ASCII
)
"""Spelt out, since clients read an address in different ways: of https://a.example\\@huggingface.co one asks the Hub, the
other a.example."""
_TOKENS = re.compile(
    r"(?:HF|HUGGING_?FACE(?:HUB)?)_(?!HUB_DISABLE_)(?:\w*_)?(?:TOKEN|API_KEY|OIDC_\w+)", re.IGNORECASE
)
_UNVERIFIED = ("CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE")
WITHOUT = {"HF_HUB_DISABLE_IMPLICIT_TOKEN": "1", "HF_TOKEN_PATH": "/dev/null"}
"""What keeps huggingface_hub from the token that `hf auth login` left in a file (constants.py, utils/_headers.py)."""


def trusted(endpoint: str) -> bool:
    """Whether this is the Hub itself, over a connection that nobody else reads."""
    return _HUB_ITSELF.fullmatch(endpoint) is not None


def without_password(endpoint: str) -> str:
    return redact(endpoint).replace(f"{STARS}@", "").rstrip("/")


def place(variables: Mapping[str, str]) -> str:
    """Where huggingface_hub asks in this environment; "unverified ..." where it would believe any certificate."""
    if variables.get("HUGGINGFACE_CO_STAGING", "").upper() in ("1", "ON", "YES", "TRUE"):
        return "https://hub-ci.huggingface.co"
    endpoint = variables.get("HF_ENDPOINT") or HUB
    # requests takes an empty bundle for "verify nothing"
    off = [name for name in _UNVERIFIED if variables.get(name) == ""]
    return f"unverified {endpoint} ({off[0]} is empty)" if off else endpoint


def withheld(variables: Mapping[str, str], *, consent: bool) -> tuple[list[str], dict[str, str]]:
    """Which variables must not reach a program of this environment, and what it must be given instead."""
    if consent or trusted(place(variables)):
        return [], {}
    return sorted(name for name in variables if _TOKENS.fullmatch(name)), dict(WITHOUT)
