"""How do host, checkpoint and deployment stand before anything is done?"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.facts.engine import Engine
from orchestrator.facts.gather import Facts, gather
from orchestrator.journal import History, fold
from orchestrator.playbook import Playbook
from orchestrator.ssh.host import Host

API_KEY = "VLLM_API_KEY"


@dataclass(frozen=True)
class Checkpoint:
    """The checkpoint's folder on the host; `configs` are the bytes of its config files by name."""

    exists: bool
    folder: str
    owner_uid: int | None
    owned_by_us: bool
    configs: Mapping[str, bytes]
    too_large: tuple[str, ...]
    index: Mapping[str, Any] | None
    manifest: Mapping[str, Any] | None
    free_bytes: int

    @property
    def shards(self) -> int | None:
        """How many shards the index names."""
        return len(self.index["shards"]) if self.index else None

    @property
    def missing(self) -> int | None:
        """How many of them are not there."""
        return len(self.index["missing"]) if self.index else None

    @property
    def weights_bytes(self) -> int | None:
        return self.index["total_size"] if self.index else None


@dataclass(frozen=True)
class Observed:
    """The deployment's last launch: its processes, log and health."""

    launch: int | None
    alive: bool
    members: tuple[Mapping[str, Any], ...]
    exit_code: int | None
    command: Mapping[str, Any] | None
    log: Mapping[str, Any] | None
    health: int | None
    models: tuple[str, ...]
    listener: Mapping[str, Any] | None
    started_at: str | None
    shm: Mapping[str, int]

    def serves(self, model: str) -> bool:
        """Whether our own living launch answers and lists the model."""
        ours = bool(self.listener and self.listener.get("ours"))
        return self.alive and self.health == 200 and ours and model in self.models


@dataclass(frozen=True)
class Survey:
    """Everything a plan is made from."""

    facts: Facts
    checkpoint: Checkpoint
    observed: Observed
    history: History

    @property
    def engine(self) -> Engine | None:
        return self.facts.engine if isinstance(self.facts.engine, Engine) else None


def survey(host: Host, playbook: Playbook, *, facts: Facts | None = None) -> Survey:
    """Read everything in three round trips, or two where the facts are known; only makes the state folder."""
    facts = facts or gather(host, engine_python=playbook.engine.python, folder=playbook.folder)
    found = host.script("inspect_checkpoint", {"folder": playbook.folder, "playbook": playbook.name})
    observed, history = observe(host, playbook)
    return Survey(facts=facts, checkpoint=checkpoint(found), observed=observed, history=history)


def observe(host: Host, playbook: Playbook, launch: int | None = None) -> tuple[Observed, History]:
    """The deployment as it is now, and its history, in one round trip."""
    secret = playbook.environment.get(API_KEY)
    request = {**endpoint_of(playbook), "playbook": playbook.name, "launch": launch}
    seen = host.script("observe", request, private=secret is not None)
    process = seen["process"] or {}
    observed = Observed(
        launch=seen["launch"],
        alive=bool(process.get("alive")),
        members=tuple(process.get("members", ())),
        exit_code=process.get("exit_code"),
        command=seen["command"],
        log=seen["log"],
        health=seen["health"],
        models=tuple(seen["models"]),
        listener=seen["listener"],
        started_at=process.get("started_at"),
        shm=seen["shm"],
    )
    # a home folder shared between machines holds the records of all of them
    own = [record for record in seen["journal"] if record.get("machine") == seen["machine"]]
    return observed, fold(own)


def endpoint_of(playbook: Playbook) -> dict[str, Any]:
    """Where the engine answers on its host, with the key it asks for; only for a private channel if there is one."""
    setting = playbook.environment.get(API_KEY)
    value = setting.value if setting else None
    key = value.get_secret_value() if value is not None and not isinstance(value, str) else value
    return {"port": playbook.port, "host": playbook.listen, "model": playbook.served_name, "api_key": key}


def checkpoint(found: Mapping[str, Any]) -> Checkpoint:
    """The answer of `on_host/inspect_checkpoint.py` as a value."""
    return Checkpoint(
        exists=found["exists"],
        folder=found["folder"],
        owner_uid=found["owner_uid"],
        owned_by_us=found["owned_by_us"],
        configs={name: base64.b64decode(content) for name, content in found["configs"].items()},
        too_large=tuple(found["too_large"]),
        index=found["index"],
        manifest=found["manifest"],
        free_bytes=found["disk"]["free_bytes"],
    )


def describe(host: str, playbook: Playbook, observed: Observed, history: History) -> dict[str, Any]:
    """What `deploy status --json` prints."""
    outcome = history.outcome
    return {
        "host": host,
        "playbook": playbook.name,
        "state": _state(observed, history, playbook.served_name),
        "launch": observed.launch,
        "started_at": observed.started_at,
        "exit_code": observed.exit_code,
        "members": list(observed.members),
        "health": observed.health,
        "models": list(observed.models),
        "listener": observed.listener,
        "shm": dict(observed.shm),
        "log": observed.log,
        "attempts": history.attempts,
        "outcome": {"launch": outcome.launch, "result": outcome.result, "cause": outcome.cause}
        if outcome
        else None,
        "patches": [
            {"patch": one.patch, "confirmed": one.confirmed, "files": [file.name for file in one.files]}
            for one in history.applied
        ],
    }


def _state(observed: Observed, history: History, model: str) -> str:
    if observed.launch is None:
        return "never launched"
    if observed.serves(model):
        return "healthy"
    if observed.alive:
        return "starting" if history.outcome is None else "running, not healthy"
    if observed.members:
        return "dead, orphans alive"
    return "stopped" if history.outcome and history.outcome.result == "stopped" else "dead"
