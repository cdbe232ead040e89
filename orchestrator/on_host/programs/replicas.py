"""Which replicas of a fleet, and which router of it, are on this machine?"""

from __future__ import annotations

import re
from typing import Any

from orchestrator.on_host.kinds import launches
from orchestrator.on_host.state.state import instances, known_folder


def main(request: dict[str, Any]) -> dict[str, Any]:
    """Look at the last launch of each, or the one that lives; changes nothing.

    request: fleet (its name). Answers {deployments: [{instance, launch, alive, command}]} for every FLEET-N and FLEET-router of which
    this machine has a launch: `alive`: a process of it lives; command: what was started (`Launch.command`), or null.
    """
    named = re.compile(rf"{re.escape(request['fleet'])}-([1-9][0-9]{{0,3}}|router)")
    at = launches.table()
    deployments = []
    for instance in instances():
        if not named.fullmatch(instance):
            continue
        launch = launches.choose(known_folder(instance), None, at)
        if launch is not None:
            deployments.append(
                {
                    "instance": instance,
                    "launch": launch.number,
                    "alive": bool(launches.members(launch, at)),
                    "command": launch.command(),
                }
            )
    return {"deployments": deployments}
