"""Why could an environment not be made, by what uv printed last?"""

from __future__ import annotations

import re

from orchestrator.on_host.secrets.secrets import redact

TAIL_LINES = 12
"""Of what uv printed last, so many lines are told."""
_CAUSES = (
    ("install_no_space", r"no space left on device|disk quota exceeded|os error (?:28|122)\b"),
    ("wheel_broken", r"hash mismatch|failed to (?:extract|unzip)|invalid zip"),
    ("install_no_python", r"no interpreter found for|failed to (?:download|inspect).*python"),
    (
        "index_refused",
        r"401 unauthorized|403 forbidden|authentication (?:error|failed)|invalid peer certificate|unknownissuer",
    ),
    (
        "index_unreachable",
        r"dns error|connection refused|failed to fetch|error sending request|timed out|tcp connect error|could not connect",
    ),
    (
        "engine_not_found",
        r"no solution found|there is no version of|was not found in the|no wheels? with a matching",
    ),
)
"""The first that fits counts: a full disk and a lost network end in sentences of the later ones too."""


class InstallFailure(Exception):
    """A failure with a stable code and what is to be told of it; what was made so far is never used."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def of_uv(doing: str, printed: str, rc: int) -> InstallFailure:
    """The failure of a uv that ended so, with the last lines that it printed."""
    text = redact(printed)
    lines = [line.rstrip() for line in text.splitlines() if line.strip()][-TAIL_LINES:]
    code = next((code for code, words in _CAUSES if re.search(words, text, re.IGNORECASE)), "install_failed")
    told_last = "\n".join(f"  {line}" for line in lines) or "  it printed nothing"
    return InstallFailure(code, f"uv ended with {rc} while {doing}:\n{told_last}")


def of_system(doing: str, error: OSError) -> InstallFailure:
    """The failure of a call of the system, such as a full disk."""
    code = "install_no_space" if error.errno in (28, 122) else "install_failed"  # ENOSPC, EDQUOT
    return InstallFailure(
        code, f"{doing}: {error.strerror or error}{f': {error.filename}' if error.filename else ''}"
    )
