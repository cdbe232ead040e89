"""How are the facts of a host read from a file that a person names?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from orchestrator.facts.saved import Saved


def load(name: str) -> Saved:
    """What `deploy doctor --save` wrote; raises UsageError("facts_file")."""
    from orchestrator.base.errors import UsageError
    from orchestrator.facts import saved

    try:
        text = Path(name).read_text()
    except (OSError, ValueError) as error:
        raise UsageError("facts_file", f"{name} cannot be read: {error}") from None
    return saved.read(text, name)
