"""Where and how is a deployment asked?"""

from __future__ import annotations

from orchestrator.playbook.playbook import Playbook
from orchestrator.programs.place import Endpoint


def place_of(playbook: Playbook) -> Endpoint:
    """Where the engine answers on its host."""
    return Endpoint(host=playbook.listen, port=playbook.port, model=playbook.served_name)


def api_key(playbook: Playbook) -> str | None:
    """The key that the server will ask for, where the playbook or an option sets one."""
    setting = playbook.environment.get(playbook.kind.key)
    return setting.plain if setting else None


def health_path(playbook: Playbook) -> str | None:
    """Where it is asked whether it is up; None for a host that answers no requests."""
    return playbook.kind.server.health_path if playbook.serves else None
