"""How does an environment with a pinned engine come about on the host, once for all who want it?

`start` leaves a process that outlives the connection (`on_host/state/detached.py`); what it does is told in
~/.local/share/deploy/engines/ENGINE-VERSION/progress.jsonl, and who makes it holds the lock there.
"""

from __future__ import annotations

import os
import re
import sys
import traceback
from pathlib import Path
from typing import Any

from orchestrator.on_host.environments import failure, make
from orchestrator.on_host.environments.place import ENGINES
from orchestrator.on_host.files import trusted
from orchestrator.on_host.refusal import Refusal
from orchestrator.on_host.state import detached, state
from orchestrator.on_host.state.detached import Errand, Tell


def main(request: dict[str, Any]) -> dict[str, Any]:
    """Start making it, say how it stands, or make it here.

    request: action "start" | "status" | "run", engine, version, and for all but status: instance (whose journal tells of it),
    module, pythons, left_out, indexes, pages (`make.make`). Answers {state, holder, last, room} (`detached.status`).
    """
    room = _room(request["engine"], request["version"])
    action = request["action"]
    if action == "status":
        return detached.status(room)
    if action not in ("start", "run"):
        raise Refusal("bad_request", f"install_engine knows no action {action!r}")
    note = {"engine": request["engine"], "version": request["version"]}
    errand = Errand("install", room, note, lambda say: _outcome(request, room, say))
    return detached.start(errand) if action == "start" else detached.run(errand)


def _room(engine: str, version: str) -> Path:
    """The folder of this engine and version, made where it is missing.

    Raises Refusal("engines_folder") where others could change what an engine is started from.
    """
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]*", engine) or not re.fullmatch(r"[0-9][0-9A-Za-z.+!]*", version):
        raise Refusal("bad_request", f"{engine!r} {version!r} names no engine")
    folder = Path(os.path.expanduser(ENGINES)) / f"{engine}-{version}"
    objection = trusted.objection(folder)
    if objection:
        raise Refusal("engines_folder", f"no engine is installed in {folder}: {objection}")
    try:
        trusted.make(folder)
    except OSError as error:
        raise Refusal("engines_folder", f"cannot make {folder}: {error.strerror or error}") from error
    return folder


def _outcome(request: dict[str, Any], room: Path, say: Tell) -> dict[str, Any]:
    """The last line of progress: {"done": true, ...} or {"error": {code, message}}."""
    pin = f"{request['engine']}=={request['version']}"
    print(f"{state.now()} {pin} into {room}", file=sys.stderr)
    try:
        last = make.make(room, request, say)
        if last["made"]:
            folder = state.state_folder(request["instance"])
            record = {"action": "install", "engine": pin, "folder": str(room), "python": last["python"]}
            with state.at_work(folder):
                state.append(folder, record)
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
