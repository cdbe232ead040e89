"""How is an engine started so that it outlives the connection, and is found again?"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.on_host.footprint import Footprint
from orchestrator.on_host.kinds import launches, registry
from orchestrator.on_host.kinds.kind import HERE, EngineCommand, Kind
from orchestrator.on_host.processes import gpu_memory, oom, procs
from orchestrator.on_host.refusal import Refusal
from orchestrator.on_host.removing import caches, shared_memory
from orchestrator.on_host.secrets import hub_token, secrets
from orchestrator.on_host.state.state import (
    append,
    at_work,
    boot_id,
    machine_id,
    now,
    state_folder,
    write_json,
)


def main(request: dict[str, Any]) -> dict[str, Any]:
    """Start the engine; returns at once: {launch, pid, log, started_at}.

    request: instance, playbook (whose name goes on record), kind (how it is started and held, a name of `on_host/kinds/`), launch_id
    (unique text without blanks), argv (an item `HERE`, or what one begins with before a slash, becomes the launch's folder, but on record), files {name: text} (are
    written into it), environment {name: value}, secrets {name: value} (reach the engine's environment,
    are written nowhere), unset [names that it must not inherit], token_consent (the Hub's token may go wherever HF_ENDPOINT
    leads), gpu_at_most_mib ({uuid: MiB} that may be in use on a GPU before the start), folder (where it runs; the home folder by default), log_name (what its log is called), footprint (what such an
    engine leaves on a host: for the record, by which it is stopped), note (any JSON for the record). Raises
    Refusal("already_running") while a member of an earlier launch lives, Refusal("no_room") where a GPU has more in use than it
    may, Refusal("bad_request"), Refusal("no_folder"), Refusal("cannot_start").
    """
    state = state_folder(request["instance"])
    with at_work(state):
        return _launch(request, state)


def _launch(request: dict[str, Any], state: Path) -> dict[str, Any]:
    kind, environment = _kind(request["kind"]), _environment(request)
    folder = _working_folder(request.get("folder"))
    marker = request["launch_id"]
    if not request["argv"] or not marker or marker.split() != [marker]:
        raise Refusal("bad_request", "a launch needs a command and an identity without blanks")
    _refuse_second(state, request["instance"])

    before = _before(environment, request["footprint"])
    _refuse_without_room(before["gpu_before_mib"], request.get("gpu_at_most_mib") or {})
    number, home = _next_folder(state)
    started = {
        "launch_id": marker,
        "argv": list(request["argv"]),
        "environment": environment.shown,
        "secrets": environment.secrets,
    }
    more = {"unset": environment.unset, "folder": folder, "note": request.get("note")}
    write_json(home / "command.json", secrets.redacted({**started, **more}))
    log = kind.log(home, request["log_name"])
    record = {"kind": kind.name, "marker": marker, "log": str(log), **before}
    write_json(home / "process.json", record)  # whatever happens next, the marker is on record
    append(state, {"action": "launch", "launch": number, "playbook": request.get("playbook"), **started})
    for name, text in (request.get("files") or {}).items():
        (home / name).write_text(text)
    argv = tuple(_placed(item, home) for item in request["argv"])
    command = EngineCommand(argv, environment.inherited, environment.own, folder)
    record.update(kind.start(command, home, log), started_at=now())
    write_json(home / "process.json", record)
    return {"launch": number, **{name: record[name] for name in ("pid", "log", "started_at")}}


def _placed(item: str, home: Path) -> str:
    first, slash, rest = item.partition("/")
    return f"{home}{slash}{rest}" if first == HERE else item


def _kind(name: str) -> Kind:
    if name not in registry.KINDS:
        known = ", ".join(registry.KINDS)
        raise Refusal("bad_request", f"a launch of the kind {name!r} cannot be started; there are {known}")
    return registry.KINDS[name]


@dataclass(frozen=True)
class _Environment:
    """What the engine inherits and what is its own, and how that goes on record: secrets and `unset` by name only."""

    inherited: Mapping[str, str]
    own: Mapping[str, str]
    shown: Mapping[str, str]
    secrets: list[str]
    unset: list[str]


def _environment(request: dict[str, Any]) -> _Environment:
    shown = _texts(request.get("environment") or {})
    hidden = _texts(request.get("secrets") or {})
    for value in hidden.values():
        secrets.remember(value)
    unset = set(request.get("unset") or ())
    inherited = {name: value for name, value in os.environ.items() if name not in unset}
    own = {**shown, **hidden, procs.MARKER: request["launch_id"]}
    consent = bool(request.get("token_consent"))
    withheld, instead = hub_token.withheld({**inherited, **own}, consent=consent)
    for name in withheld:
        unset.add(name)
        for values in (inherited, own, shown, hidden):
            values.pop(name, None)
    own.update(instead)
    shown.update(instead)
    return _Environment(inherited, own, shown, sorted(hidden), sorted(unset))


def _before(environment: _Environment, footprint: dict[str, Any]) -> dict[str, Any]:
    """What is on record of the moment before the start, for who looks at the launch later."""
    whole = {**environment.inherited, **environment.own}
    variables = (*caches.VARIABLES, *Footprint.of(footprint).variables)
    led_by = [name for name in variables if name in whole and name not in environment.secrets]
    return {
        "machine": machine_id(),
        "boot_id": boot_id(),
        "pid": None,
        "start_time": None,
        "started_at": now(),
        "shm_before": [entry.name for entry in shared_memory.entries()],
        "gpu_before_mib": gpu_memory.used(),
        "footprint": footprint,
        "caches_by": {name: whole[name] for name in led_by},
        "oom_kills_before": oom.counts(),
        "adopters": _adopters(),
    }


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


def _refuse_without_room(used: Mapping[str, int] | None, at_most: Mapping[str, int]) -> None:
    """The engine would take minutes to say the same."""
    if full := gpu_memory.without_room(used, at_most):
        each = ", ".join(f"{uuid} {mib} MiB ({at_most[uuid]} at most)" for uuid, mib in sorted(full.items()))
        raise Refusal("no_room", f"too much memory of the GPUs is in use: {each}")


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
