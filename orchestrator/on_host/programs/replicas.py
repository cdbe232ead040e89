"""Which replicas of a fleet, and which router of it, are on this machine, and what has it for more of them?"""

from __future__ import annotations

import re
from typing import Any

from orchestrator.on_host.kinds import launches
from orchestrator.on_host.programs import addresses, read_facts
from orchestrator.on_host.state.state import instances, known_folder


def main(request: dict[str, Any]) -> dict[str, Any]:
    """Look at the last launch of each, or the one that lives; changes nothing.

    request: fleet (its name), facts (the request of `read_facts`). Answers {deployments: [{instance, launch, alive, stopped, command}]} for every
    FLEET-N and FLEET-router of which this machine has a launch: `alive`: a process of it lives; `stopped`: a person has stopped it; command: what was started
    (`Launch.command`), or null. `addresses` and `facts` are the answers of the programs of these names; the commands run meanwhile.
    """
    facts = read_facts.begin(request["facts"])
    fleet = request["fleet"]
    named = re.compile(rf"{re.escape(fleet)}-([1-9][0-9]{{0,3}}|router)")
    at = launches.table()
    deployments = []
    for instance in instances():
        if not named.fullmatch(instance):
            continue
        state = known_folder(instance)
        launch = launches.choose(state, None, at)
        if launch is not None:
            deployments.append(
                {
                    "instance": instance,
                    "launch": launch.number,
                    "alive": bool(launches.members(launch, at)),
                    "stopped": addresses.stopped(state),
                    "command": launch.command(),
                }
            )
    where = addresses.main({"instance": fleet})
    return {"deployments": deployments, "addresses": where, "facts": facts()}
