"""Where and how is a deployment asked?"""

from __future__ import annotations

from typing import Any

from orchestrator.playbook.playbook import Playbook


def endpoint_of(playbook: Playbook) -> dict[str, Any]:
    """Where the engine answers on its host, with the key it asks for; only for a private channel if there is one."""
    return {
        "port": playbook.port,
        "host": playbook.listen,
        "model": playbook.served_name,
        "api_key": api_key(playbook),
    }


def api_key(playbook: Playbook) -> str | None:
    """The key that the server will ask for, where the playbook or an option sets one."""
    setting = playbook.environment.get(playbook.kind.key)
    return setting.plain if setting else None
