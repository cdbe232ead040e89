"""What does the host know about how a launch ended?"""

from __future__ import annotations

import os
from typing import Any

from orchestrator.on_host.kinds import launches
from orchestrator.on_host.processes import kernel_log, oom
from orchestrator.on_host.refusal import Refusal
from orchestrator.on_host.state.state import boot_id, known_folder


def main(request: dict[str, Any]) -> dict[str, Any]:
    """Look at launch request["launch"] of request["instance"]; changes nothing.

    Answers {exit_code, rebooted: whether the machine was started anew since, oom_kills: {group, machine, limit} since the
    launch began (`oom.since`), null for what cannot be told, kernel: the kills that the kernel's log tells since then
    (`oom.kills`), null where it cannot be read, faults: the cards and programs of which it says that they failed
    (`kernel_log.faults`)}.
    """
    launch = launches.load(known_folder(request["instance"]), request["launch"])
    if launch is None:
        raise Refusal("no_launch", f"there is no launch {request['launch']} on this machine")
    rebooted = launch.boot_id != boot_id()
    began = (launch.start_time or 0) / os.sysconf("SC_CLK_TCK")
    lines = None if rebooted else kernel_log.read(began)
    return {
        "exit_code": launch.exit_code(),
        "rebooted": rebooted,
        "oom_kills": oom.since(None if rebooted else launch.record.get("oom_kills_before")),
        "kernel": None if lines is None else oom.kills(lines),
        "faults": kernel_log.faults(lines or []),
    }
