"""How do checkpoint and launch stand, in one answer?"""

from __future__ import annotations

from typing import Any

from orchestrator.on_host import inspect_checkpoint, observe


def main(request: dict[str, Any]) -> dict[str, Any]:
    """`checkpoint` and `launch` are the requests of the two programs; the answer has theirs under the same names."""
    return {
        "checkpoint": inspect_checkpoint.main(request["checkpoint"]),
        "launch": observe.main(request["launch"]),
    }
