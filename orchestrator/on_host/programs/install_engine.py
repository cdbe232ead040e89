"""How does an environment with a pinned engine come about on the host, once for all who want it?

`start` leaves a process that outlives the connection (`on_host/state/detached.py`); what it does is told in
~/.local/share/deploy/engines/ENGINE-VERSION/progress.jsonl, and who makes it holds the lock there.
"""

from __future__ import annotations

import sys
import traceback
from pathlib import Path
from typing import Any

from orchestrator.on_host.environments import failure, make, rooms
from orchestrator.on_host.refusal import Refusal
from orchestrator.on_host.state import detached, state
from orchestrator.on_host.state.detached import Errand, Tell


def main(request: dict[str, Any]) -> dict[str, Any]:
    """Start making it, say how it stands, or make it here.

    request: action "start" | "status" | "run", engine, version, and for all but status: instance (whose journal tells of it, null where no deployment asks for it),
    module, pythons, left_out, also, indexes, pages (`make.make`). Answers {state, holder, last, room} (`detached.status`).
    """
    room = rooms.made(rooms.room(request["engine"], request["version"]))
    action = request["action"]
    if action == "status":
        return detached.status(room)
    if action not in ("start", "run"):
        raise Refusal("bad_request", f"install_engine knows no action {action!r}")
    note = {"engine": request["engine"], "version": request["version"]}
    errand = Errand("install", room, note, lambda say: _outcome(request, room, say))
    return detached.start(errand) if action == "start" else detached.run(errand)


def _outcome(request: dict[str, Any], room: Path, say: Tell) -> dict[str, Any]:
    """The last line of progress: {"done": true, ...} or {"error": {code, message}}."""
    pin = f"{request['engine']}=={request['version']}"
    print(f"{state.now()} {pin} into {room}", file=sys.stderr)
    try:
        last = make.make(room, request, say)
        if last["made"]:
            _put_on_record(request["instance"], pin, room, last["python"])
        return last
    except failure.InstallFailure as error:
        return {"error": {"code": error.code, "message": error.message}}
    except OSError as error:
        traceback.print_exc()
        known = failure.of_system(f"making {room}", error)
        return {"error": {"code": known.code, "message": known.message}}
    except Exception as error:
        traceback.print_exc()
        return {"error": {"code": "install_failed", "message": f"{room}: {type(error).__name__}: {error}"}}


def _put_on_record(instance: str | None, pin: str, room: Path, python: str) -> None:
    """In the journal of all engines, and in that of the deployment which asked for this one."""
    record = {"action": "install", "engine": pin, "folder": str(room), "python": python}
    state.append(rooms.folder(), {**record, "instance": instance})
    if instance is not None:
        folder = state.state_folder(instance)
        with state.at_work(folder):
            state.append(folder, record)
