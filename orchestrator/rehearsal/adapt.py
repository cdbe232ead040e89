"""What must differ in a playbook so that it runs in a rehearsal's box?"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from orchestrator.playbook.playbook import Playbook
from orchestrator.rehearsal.stand_in import VERSION

ENVIRONMENT = "~/ml-env"
"""Where the engine's environment lies in the home folder of the box."""
REPLICA_CARDS = 2


def for_stand_in(
    playbook: Playbook, *, port: int, endpoint: str, meeting_port: int | None = None, replica: bool = False
) -> Playbook:
    """The playbook for the stand-in engine: all that its launch says stays as it is. The ranks of several hosts meet at a port
    that nobody else on this machine has; a `replica` is on two cards at most.
    """
    wanted = {
        **_place(playbook, port, endpoint),
        "engine.python": f"{ENVIRONMENT}/bin/python3",
    }
    if not playbook.engine.accepts(VERSION):
        wanted["engine.version"] = f"=={VERSION}"
    if meeting_port is not None:
        wanted[f"arguments.{playbook.kind.meeting}"] = meeting_port
    if replica:
        wanted |= _smaller(playbook)
    return _with(playbook, wanted)


def _smaller(playbook: Playbook) -> dict[str, Any]:
    """On so many cards with as much of the weights: more ranks show nothing else of a fleet, and each is a process."""
    whole = playbook.parallel.gpus
    cards = min(REPLICA_CARDS, whole)
    smaller: dict[str, Any] = {"parallel": {"tensor": cards}, "needs.gpus": cards}
    if playbook.figures and playbook.figures.weights_bytes:
        smaller["figures.weights_bytes"] = playbook.figures.weights_bytes * cards // whole
    return smaller


def for_cpu(playbook: Playbook, *, port: int, endpoint: str, python: str) -> Playbook:
    """The playbook for a real vLLM on this machine's processor, with a checkpoint of 2 MB.

    Its model, name and smoke request stay; arguments and needs that want cards go.
    """
    ranks = min(2, os.cpu_count() or 1)
    wanted = {
        **_place(playbook, port, endpoint),
        "engine.python": python,
        "engine.version": ">=0.14",
        "parallel": {"tensor": ranks},
        "context": 256,
        "arguments": {"enforce-eager": True},
        "environment": {
            "HF_ENDPOINT": endpoint,
            "VLLM_CPU_KVCACHE_SPACE": {"value": 1, "reason": "GiB; a small machine has no more to give"},
            "VLLM_CPU_OMP_THREADS_BIND": {
                "value": "|".join(str(core) for core in range(ranks)),
                "reason": "one core a rank",
            },
        },
        "needs": {"gpus": 0},
        "figures": None,
    }
    return _with(playbook, wanted)


def as_file(playbook: Playbook) -> str:
    """The playbook as the text of its file (JSON, which is YAML)."""
    return json.dumps(
        playbook.model_dump(mode="json", exclude_unset=True, exclude={"name", "source"}), indent=2
    )


def _place(playbook: Playbook, port: int, endpoint: str) -> dict[str, Any]:
    folder = playbook.folder if playbook.folder.startswith("~/") else f"~/models/{playbook.name}"
    return {
        "model.repository": playbook.model.repository or f"rehearsal/{playbook.name}",
        "checkpoint.folder": folder,
        "listen": "127.0.0.1",
        "port": port,
        "environment.HF_ENDPOINT": endpoint,
    }


def _with(playbook: Playbook, wanted: Mapping[str, Any]) -> Playbook:
    if isinstance(wanted.get("environment"), dict):
        wanted = {name: value for name, value in wanted.items() if not name.startswith("environment.")}
    settings = [f"{name}={json.dumps(value)}" for name, value in wanted.items()]
    return playbook.with_overrides(settings)
