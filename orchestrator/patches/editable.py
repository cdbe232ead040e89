"""Which members of a checkpoint's config files may a remedy change, and to which values?

What names code, or a place from which something is loaded, is a person's to choose, whoever wrote the patch: to take it
away is to choose too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from orchestrator.patches.pointer import steps

LARGEST_VALUE = 16_384
"""Letters of a value as JSON."""
_PERSONAL = re.compile(
    r"""
    .*auto[-_]?map.*|.*trust.*remote.*|.*remote_code.*|.*plugin.*|.*callable.*|.*qualname.*|custom_.*     # which code is run
      |.*_(?:class|cls|module)|class|cls|module|.*(?:class|module)_name|.*entry_?point.*
      |(?:.*_)?(?:path|paths|dir|file|files|url|uri|repo|repo_id|endpoint|host|revision|commit_hash)  # what is fetched
      |(?:.*_)?(?:name_or_path|(?:model|vision|audio|text)_(?:id|name)|backbone|vision_tower|tokenizer)
      |.*chat_template.*|speculat.*|.*adapter.*|.*(?:secret|password|api_?key).*|(?:hf|auth|access)_token
    """,
    re.VERBOSE | re.IGNORECASE,
)
_ELSEWHERE = re.compile(r"[/\\~]|--|://|\.py\b|[\x00-\x1f\x7f]|\{[{%]", re.IGNORECASE)
"""A text that can be a path, an address, another repository's code (`REPO--FILE.Class`) or a template."""


def require_editable(pointer: str, value: Any) -> None:
    """ValueError where the member, or the value that it is to be given, is for a person to choose, or is no JSON."""
    if personal := next(filter(_PERSONAL.fullmatch, steps(pointer)), None):
        raise ValueError(f"a remedy may not change {pointer}: {personal} is for a person to choose")
    try:
        text = json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"the value for {pointer} is none of JSON's: {error}") from error
    if len(text) > LARGEST_VALUE:
        raise ValueError(f"the value for {pointer} has {len(text)} letters; allowed: {LARGEST_VALUE}")
    if key := personal_within(value):
        raise ValueError(f"a remedy may not give {pointer} a {key}: that is for a person to choose")
    if odd := next(filter(_ELSEWHERE.search, _texts(value)), None):
        raise ValueError(
            f"a remedy may not give {pointer} the text {odd[:60]!r}, which can lead elsewhere; allowed: plain words"
        )


def personal_within(value: Any) -> str | None:
    """A key inside a value that is for a person to choose: what holds one is not exchanged or taken away as a whole."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if _PERSONAL.fullmatch(str(key)):
                return str(key)
            if (deeper := personal_within(inner)) is not None:
                return deeper
    if isinstance(value, list):
        return next((key for inner in value if (key := personal_within(inner)) is not None), None)
    return None


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from (str(key), *_texts(inner))
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
