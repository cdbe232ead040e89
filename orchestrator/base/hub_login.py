"""Which token of the Hub does this person have on this machine?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from orchestrator.on_host.secrets.secrets import remember

_YES = ("1", "ON", "YES", "TRUE")
_LONGEST = 4096


def token(environment: Mapping[str, str]) -> str | None:
    """That of the environment, or the one that `hf auth login` left in a file, unless HF_HUB_DISABLE_IMPLICIT_TOKEN says that it
    is not meant for everything. From here on no output holds it."""
    given = environment.get("HF_TOKEN") or environment.get("HUGGING_FACE_HUB_TOKEN")
    if given is None and environment.get("HF_HUB_DISABLE_IMPLICIT_TOKEN", "").upper() not in _YES:
        given = _left_by_a_login(environment)
    remember(given or "")
    return given


def _left_by_a_login(environment: Mapping[str, str]) -> str | None:
    try:
        with _file(environment).open(encoding="ascii") as file:
            return file.read(_LONGEST).strip() or None
    except (OSError, ValueError):  # none, or nothing that is one
        return None


def _file(environment: Mapping[str, str]) -> Path:
    """Where huggingface_hub keeps it (constants.py)."""
    home = environment.get("HOME", "/")
    if path := environment.get("HF_TOKEN_PATH"):
        return _from(home, path)
    cache = environment.get("XDG_CACHE_HOME") or "~/.cache"
    return _from(home, environment.get("HF_HOME") or f"{cache}/huggingface") / "token"


def _from(home: str, path: str) -> Path:
    return Path(home, path[2:]) if path.startswith("~/") else Path(path)
