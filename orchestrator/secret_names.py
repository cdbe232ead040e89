"""Does the name of a variable say that its value must never be shown?"""

from __future__ import annotations

import re

_SECRET = re.compile(r"(TOKEN|KEY|CREDENTIAL|PASSWD)S?(_|$)|SECRET|PASSWORD", re.IGNORECASE)
_POINTER = re.compile(r"_(PATH|FILE)$", re.IGNORECASE)


def is_secret(name: str) -> bool:
    """True for VLLM_API_KEY, HF_TOKEN and their like; TOKENIZERS_PARALLELISM and HF_TOKEN_PATH are none."""
    return bool(_SECRET.search(name)) and not _POINTER.search(name)
