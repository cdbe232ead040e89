"""What of a deployment lives on, and how much GPU memory does it hold?"""

from __future__ import annotations

from typing import Any

from orchestrator.on_host.kinds import launches
from orchestrator.on_host.processes import gpu_memory, procs
from orchestrator.on_host.state.state import boot_id, known_folder


def main(request: dict[str, Any]) -> dict[str, Any] | None:
    """Look at the launch of request["instance"] that lives, else at the latest; changes nothing.

    Answers {launch, supervised: whether its supervisor lives, processes: [{pid, name, gpu_mib}], cards: {uuid: MiB}
    that it holds}, MiB null or 0 where they are not known; null where nothing lives and no memory is held.
    """
    at = launches.table()
    launch = launches.choose(known_folder(request["instance"]), None, at)
    if launch is None or launch.boot_id != boot_id():
        return None
    living = launches.engine(launch, launches.members(launch, at), at)
    held = gpu_memory.held([process.pid for process in living], launch.record.get("gpu_before_mib"))
    if not living and not held["cards"]:
        return None
    return {
        "launch": launch.number,
        "supervised": launches.supervisor(launch, at) is not None,
        "processes": [
            {"pid": process.pid, "name": procs.name(process), "gpu_mib": held["processes"].get(process.pid)}
            for process in living
        ],
        "cards": held["cards"],
    }
