"""How does the controller add to the journal on the host?"""

from __future__ import annotations

from typing import Any

from orchestrator.on_host.state import state


def main(request: dict[str, Any]) -> dict[str, Any]:
    """Append request["record"] to the journal of request["instance"]; gives the stamped record back."""
    folder = state.state_folder(request["instance"])
    with state.at_work(folder):
        return state.append(folder, request["record"])
