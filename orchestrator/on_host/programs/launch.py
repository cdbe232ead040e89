"""How is an engine started so that it outlives the connection, and is found again?"""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from pathlib import Path
from typing import Any

from orchestrator.on_host.footprint import Footprint
from orchestrator.on_host.processes import gpu_memory, oom, procs
from orchestrator.on_host.refusal import Refusal
from orchestrator.on_host.removing import caches, shared_memory
from orchestrator.on_host.secrets import hub_token, secrets
from orchestrator.on_host.state import launches
from orchestrator.on_host.state.state import (
    append,
    at_work,
    boot_id,
    machine_id,
    now,
    state_folder,
    write_json,
)

# The engine is sent TERM by its parent's process id, or the whole session is: the supervisor outlives
# both, so that the exit status is always on record. A caught signal is default again in the engine. Only
# builtins follow the engine: a program would be a member of the session, and be ended with it. What the
# shell itself would say of a killed engine ("Killed") is no line of its log: dash, busybox and the ksh
# family have the redirections of a command in force themselves while they wait for it, so it gets the log
# back in a subshell.
SUPERVISOR = r"""
trap : TERM INT
record=$1
shift
exec 3>&2 2>/dev/null
( exec 2>&3 3>&-; exec "$@" )
code=$?
printf '%s\n' "$code" >"$record"
exit "$code"
"""


def main(request: dict[str, Any]) -> dict[str, Any]:
    """Start the engine; returns at once: {launch, pid, log, started_at}.

    request: instance, playbook (whose name goes on record), launch_id (unique text without blanks), argv, environment {name: value}, secrets
    {name: value} (reach the engine's environment, are written nowhere), unset [names that it must
    not inherit], token_consent (the Hub's token may go wherever HF_ENDPOINT leads), folder (where it runs; the home folder by default), log_name (what its log is called), footprint (what such an engine leaves on a host: for the record, by which it is stopped), note (any JSON for the record). Raises Refusal("already_running") while a member
    of an earlier launch lives, Refusal("bad_request"), Refusal("no_folder"), Refusal("cannot_start").
    """
    state = state_folder(request["instance"])
    with at_work(state):
        return _launch(request, state)


def _launch(request: dict[str, Any], state: Path) -> dict[str, Any]:
    environment = _texts(request.get("environment") or {})
    hidden = _texts(request.get("secrets") or {})
    for value in hidden.values():
        secrets.remember(value)
    unset = set(request.get("unset") or ())
    inherited = {name: value for name, value in os.environ.items() if name not in unset}
    whole = {**inherited, **environment, **hidden, procs.MARKER: request["launch_id"]}
    withheld, instead = hub_token.withheld(whole, consent=bool(request.get("token_consent")))
    for name in withheld:
        unset.add(name)
        for values in (whole, environment, hidden):
            values.pop(name, None)
    whole.update(instead)
    environment.update(instead)
    folder = _working_folder(request.get("folder"))
    if (
        not request["argv"]
        or not request["launch_id"]
        or request["launch_id"].split() != [request["launch_id"]]
    ):
        raise Refusal("bad_request", "a launch needs a command and an identity without blanks")
    _refuse_second(state, request["instance"])

    log_name = request["log_name"]
    leaves = Footprint.of(request["footprint"])
    number, home = _next_folder(state)
    command = {
        "launch_id": request["launch_id"],
        "argv": list(request["argv"]),
        "environment": environment,
        "secrets": sorted(hidden),
        "unset": sorted(unset),
        "folder": folder,
        "note": request.get("note"),
    }
    write_json(home / "command.json", secrets.redacted(command))
    record = {
        "machine": machine_id(),
        "boot_id": boot_id(),
        "pid": None,
        "start_time": None,
        "session": None,
        "marker": request["launch_id"],
        "started_at": now(),
        "log": str(home / log_name),
        "shm_before": [one.name for one in shared_memory.entries()],
        "gpu_before_mib": gpu_memory.used(),
        "footprint": request["footprint"],
        "caches_by": {
            name: whole[name]
            for name in (*caches.VARIABLES, *leaves.variables)
            if name in whole and name not in hidden
        },
        "oom_kills_before": oom.counts(),
        "adopters": _adopters(),
    }
    write_json(home / "process.json", record)  # whatever happens next, the marker is on record
    append(
        state,
        {
            "action": "launch",
            "launch": number,
            "playbook": request.get("playbook"),
            "launch_id": request["launch_id"],
            "argv": command["argv"],
            "environment": environment,
            "secrets": command["secrets"],
        },
    )
    one = _start(home, log_name, list(request["argv"]), whole, folder)
    record.update(pid=one.pid, start_time=one.start_time, session=one.pid, started_at=now())
    write_json(home / "process.json", record)
    return {"launch": number, "pid": one.pid, "log": record["log"], "started_at": record["started_at"]}


def _adopters() -> list[tuple[int, int]]:
    """Pid and start time of who may adopt what the engine leaves behind: all above us, but for a person's shells."""
    table = procs.processes()
    above = sorted(procs.lineage(os.getpid(), table) - {os.getpid()})
    return [(pid, table[pid].start_time) for pid in above if not procs.has_terminal(pid)]


def _texts(values: dict[str, Any]) -> dict[str, str]:
    for name, value in values.items():
        if not name or "=" in name or "\0" in name + str(value):
            raise Refusal("bad_request", f"{name!r} cannot be set in an environment")
    return {name: str(value) for name, value in values.items()}


def _working_folder(asked: str | None) -> str:
    folder = os.path.expanduser(asked or "~")
    if not os.path.isdir(folder):
        raise Refusal("no_folder", f"the folder {folder} to run in does not exist")
    return folder


def _refuse_second(state: Path, instance: str) -> None:
    at = launches.table()
    for launch in launches.launches(state):
        living = launches.members(launch, at)
        if living:
            more = f" and {len(living) - 1} more" if len(living) > 1 else ""
            first = f"pid {living[0].pid} ({procs.name(living[0])}){more}"
            raise Refusal("already_running", f"launch {launch.number} of {instance} still lives: {first}")


def _next_folder(state: Path) -> tuple[int, Path]:
    number = max(launches.numbers(state), default=0)
    while True:
        number += 1
        folder = state / "launches" / str(number)
        try:
            folder.mkdir(mode=0o700, parents=True)
        except FileExistsError:  # another host that shares this home folder took the number
            continue
        return number, folder


def _start(
    home: Path, log_name: str, argv: list[str], environment: dict[str, str], folder: str
) -> procs.Process:
    nohup = [program] if (program := shutil.which("nohup")) else []
    script = SUPERVISOR if nohup else "trap '' HUP" + SUPERVISOR
    log = os.open(home / log_name, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        started = subprocess.Popen(
            [*nohup, "/bin/sh", "-c", script, "deploy-launch", str(home / "exit"), *argv],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=folder,
            env=environment,
            start_new_session=True,
        )
    except OSError as error:
        raise Refusal(
            "cannot_start", f"cannot start /bin/sh in {folder}: {error.strerror or error}"
        ) from error
    finally:
        os.close(log)
    one = procs.process(started.pid)
    # A caller that lives longer than the launch must reap it; as a rule this program ends long before.
    threading.Thread(target=started.wait, daemon=True).start()
    if one is None:
        raise Refusal("cannot_start", f"pid {started.pid} was gone before it could be recorded")
    return one
