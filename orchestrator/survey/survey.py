"""How do host, checkpoint and deployment stand before anything is done?"""

from __future__ import annotations

import base64
import codecs
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from orchestrator.base.errors import CheckpointError
from orchestrator.checkpoint import json_spans
from orchestrator.facts import engine, machine
from orchestrator.facts.engine import InstalledEngine
from orchestrator.facts.gather import Facts, questions, read
from orchestrator.facts.machine import Machine
from orchestrator.facts.source import Asked
from orchestrator.hosts.host import Host
from orchestrator.playbook.endpoint import api_key, endpoint_of
from orchestrator.playbook.playbook import Playbook
from orchestrator.survey.journal import History, Outcome, fold, sound

LOOK_SECONDS = 30.0
FACTS_SECONDS = 60.0
"""How long the answer to a look may take, and how much longer where commands are asked for facts."""


@dataclass(frozen=True)
class Code:
    """The Python that came with a checkpoint: sha256 by name, the other repositories that its configs name code of, and
    whether all of it could be read."""

    files: Mapping[str, str] = field(default_factory=dict)
    elsewhere: tuple[str, ...] = ()
    whole: bool = True


@dataclass(frozen=True)
class Checkpoint:
    """The checkpoint's folder on the host; `configs` are the bytes of its config files by name."""

    exists: bool
    folder: str
    owner_uid: int | None
    owned_by_us: bool
    configs: Mapping[str, bytes]
    broken: Mapping[str, str]
    """Config files that are no JSON objects, and how that shows: nothing can be said about them."""
    unreadable: Mapping[str, str]
    """Config files that are there and cannot be read, and why."""
    index: Mapping[str, Any] | None
    manifest: Mapping[str, Any] | None
    free_bytes: int
    code: Code = Code()

    @property
    def unusable(self) -> dict[str, str]:
        """Config files of which nothing can be told, and why: nothing may be planned as if they were not there."""
        return {
            **self.broken,
            **self.unreadable,
        }

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
    endpoint: Mapping[str, Any]
    """Where it was asked: host, port and model of the launch that lives, else of the playbook."""
    started_at: str | None
    shm: Mapping[str, int]
    journal: tuple[Mapping[str, Any], ...] = ()
    """What was done on this machine, oldest first."""
    turn: str | None = None
    """The word in the lock when this was seen (`on_host/state/turns.py`); None where somebody was at work."""

    @property
    def serves(self) -> bool:
        """Whether our own living launch answers and lists its model."""
        ours = bool(self.listener and self.listener.get("ours"))
        return self.alive and self.health == 200 and ours and self.endpoint["model"] in self.models


@dataclass(frozen=True)
class Survey:
    """Everything a plan is made from."""

    facts: Facts
    checkpoint: Checkpoint
    observed: Observed
    history: History
    """With the patches of this checkpoint's folder alone."""
    fresh: bool = True
    """Whether the facts were read together with the rest, not before."""

    @property
    def outcome(self) -> Outcome | None:
        """How the last launch ended up; None while nobody has seen it."""
        outcome = self.history.outcome
        return outcome if outcome is not None and outcome.launch == self.observed.launch else None

    @property
    def proven(self) -> bool:
        """Whether a completion came out of the launch that lives: it is not to be ended on suspicion."""
        return self.observed.alive and self.outcome is not None and self.outcome.result == "healthy"

    @property
    def patched(self) -> dict[str, str]:
        """Config files that are as a patch of ours left them, and which patch."""
        now = {name: hashlib.sha256(content).hexdigest() for name, content in self.checkpoint.configs.items()}
        return {
            file.name: one.patch
            for one in self.history.applied
            for file in one.files
            if now.get(file.name) == file.after
        }

    @property
    def hf_endpoint(self) -> str | None:
        """The mirror of the Hub that the host itself is set to."""
        here = self.facts.of(machine.FACT)
        return here.hf_endpoint if isinstance(here, Machine) else None

    @property
    def engine(self) -> InstalledEngine | None:
        installed = self.facts.of(engine.FACT)
        return installed if isinstance(installed, InstalledEngine) else None


def survey(host: Host, playbook: Playbook, *, facts: Facts | None = None) -> Survey:
    """Read everything in one round trip, but for the facts where they are known; changes nothing."""
    environment = {name: setting.value for name, setting in playbook.environment.items()}
    plain = {name: value for name, value in environment.items() if isinstance(value, str)}
    asked = Asked(playbook.folder, playbook.engine.python, playbook.kind.package, plain)
    request = {
        "checkpoint": {"folder": playbook.folder, "playbook": playbook.instance},
        "launch": _question(playbook, None),
    }
    if facts is None:
        request["facts"] = questions(asked)
    seen = host.script(
        "look",
        request,
        deadline=LOOK_SECONDS if facts else LOOK_SECONDS + FACTS_SECONDS,
        private=api_key(playbook) is not None,
    )
    observed, history = _observed(seen["launch"])
    there = checkpoint(seen["checkpoint"])
    return Survey(
        facts=facts or read(seen["facts"], asked, own=[one["pid"] for one in observed.members]),
        checkpoint=there,
        observed=observed,
        history=history.within(there.folder),
        fresh=facts is None,
    )


def observe(host: Host, playbook: Playbook, launch: int | None = None) -> tuple[Observed, History]:
    """The deployment as it is now, and its history, in one round trip."""
    private = api_key(playbook) is not None
    return _observed(host.script("observe", _question(playbook, launch), private=private))


def _question(playbook: Playbook, launch: int | None) -> dict[str, Any]:
    path = playbook.kind.server.health_path
    return {**endpoint_of(playbook), "health_path": path, "playbook": playbook.instance, "launch": launch}


def _observed(seen: Mapping[str, Any]) -> tuple[Observed, History]:
    """The answer of `on_host/programs/observe.py` as values."""
    process = seen["process"] or {}
    observed = Observed(
        launch=seen["launch"],
        # The supervisor may be gone while the engine that it started still answers.
        alive=bool(process.get("alive")) or bool((seen["listener"] or {}).get("ours")),
        members=tuple(process.get("members", ())),
        exit_code=process.get("exit_code"),
        command=seen["command"],
        log=seen["log"],
        health=seen["health"],
        models=tuple(seen["models"]),
        listener=seen["listener"],
        endpoint=seen["endpoint"],
        started_at=process.get("started_at"),
        shm=seen["shm"],
        # a home folder shared between machines holds the records of all of them
        journal=tuple(map(_told, (one for one in seen["journal"] if one.get("machine") == seen["machine"]))),
        turn=seen["turn"],
    )
    return observed, fold(observed.journal)


def _told(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """A record as every reader may take it: one that does not say what its action must is of no action known."""
    if sound(record):
        return record
    return {"at": record.get("at"), "machine": record["machine"], "action": "unreadable", "record": record}


def checkpoint(found: Mapping[str, Any]) -> Checkpoint:
    """The answer of `on_host/programs/inspect_checkpoint.py` as a value."""
    configs = {name: base64.b64decode(content) for name, content in found["configs"].items()}
    broken = {name: flaw for name, content in configs.items() if (flaw := _flaw(content))}
    code = found.get("code")
    return Checkpoint(
        exists=found["exists"],
        folder=found["folder"],
        owner_uid=found["owner_uid"],
        owned_by_us=found["owned_by_us"],
        configs={name: content for name, content in configs.items() if name not in broken},
        broken=broken,
        unreadable=found["unreadable"],
        index=found["index"],
        manifest=found["manifest"],
        free_bytes=found["disk"]["free_bytes"],
        code=Code(code["files"], tuple(code["elsewhere"]), code["whole"]) if code else Code(),
    )


def _flaw(content: bytes) -> str:
    """Why an engine takes no configuration from it: vLLM and transformers read plain UTF-8; "" where they do."""
    if content.startswith(codecs.BOM_UTF8):
        return "begins with a byte order mark, at which every engine stops"
    try:
        found = json_spans.value(content, name="")
    except CheckpointError:
        found = None
    return "" if isinstance(found, dict) else "is no JSON object"


def describe(host: str, playbook: Playbook, observed: Observed, history: History) -> dict[str, Any]:
    """What `deploy status --json` prints."""
    outcome = history.outcome
    return {
        "host": host,
        "playbook": playbook.name,
        "name": playbook.instance,
        "state": _state(observed, history),
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


def _state(observed: Observed, history: History) -> str:
    if observed.launch is None:
        return "never launched"
    if observed.serves:
        return "healthy"
    if observed.alive:
        return "starting" if history.outcome is None else "running, not healthy"
    if observed.members:
        return "dead, orphans alive"
    return "stopped" if history.outcome and history.outcome.result == "stopped" else "dead"
