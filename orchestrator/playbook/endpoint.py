"""Where and how is a deployment asked?"""

from __future__ import annotations

from typing import Any

from orchestrator.playbook.playbook import Playbook

API_KEY = "VLLM_API_KEY"


def endpoint_of(playbook: Playbook) -> dict[str, Any]:
    """Where the engine answers on its host, with the key it asks for; only for a private channel if there is one."""
    setting = playbook.environment.get(API_KEY)
    key = setting.plain if setting else None
    return {"port": playbook.port, "host": playbook.listen, "model": playbook.served_name, "api_key": key}
