"""Which failures can be rehearsed, and what makes each of them happen?"""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, Protocol

from pydantic import BaseModel, ConfigDict

from orchestrator.base.errors import UsageError
from orchestrator.rehearsal.environment import StandIn
from orchestrator.rehearsal.hub import Hub
from orchestrator.rehearsal.ssh_server import SshServer

PATH = Path(__file__).with_name("faults.yaml")

Mode = Literal["one", "nodes", "fleet"]
"""What is rehearsed: one host, several that serve one model, replicas behind a router."""
OPTIONS: Mapping[Mode, tuple[str, str]] = {
    "one": ("one host", ""),
    "nodes": ("several hosts", "--nodes=2"),
    "fleet": ("a fleet", "--fleet=3"),
}
"""Each in words, and as it is asked for."""


class Rehearsed(Protocol):
    """What of a box a fault is made of: its folders, its servers, and what is undone when it closes."""

    environment: dict[str, str]
    folder: Path
    port: int
    hub: Hub
    server: SshServer
    stand_in: StandIn
    closing: contextlib.ExitStack

    @property
    def checkpoint(self) -> Path: ...
    @property
    def repository(self) -> Path: ...
    @property
    def cards(self) -> Path: ...
    @property
    def python(self) -> str: ...


class Fault(BaseModel):
    """A failure as `faults.yaml` has it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    where: Literal["engine", "hub", "host", "nodes", "fleet"]
    exit: int
    """The exit code of `deploy` that it leads to."""
    title: str
    ready_seconds: tuple[float, float] | None = None
    """How long a launch may take, at the default pace and at the fast one, instead of the playbook's time."""

    @property
    def mode(self) -> Mode:
        return self.where if self.where == "nodes" or self.where == "fleet" else "one"


@functools.cache
def load() -> Mapping[str, Fault]:
    """Every fault by name."""
    from ruamel.yaml import YAML

    return {name: Fault.model_validate(value) for name, value in YAML(typ="safe").load(PATH).items()}


def of(mode: Mode) -> tuple[str, ...]:
    """Those that go with what is rehearsed."""
    return tuple(name for name, fault in load().items() if fault.mode == mode)


def require(name: str, mode: Mode, playbook: str) -> None:
    """Raise UsageError("unknown_fault") for one that does not go with what is rehearsed."""
    if name in (known := of(mode)):
        return
    if name in load():
        words, options = OPTIONS[load()[name].mode]
        hint = {"playbook": playbook, "fault": name}
        message = f"{name} is a fault of {words}"
    else:
        words, options = OPTIONS[mode]
        hint = {}
        message = f"there is no fault {name!r} of {words}; known: {', '.join(known)}"
    raise UsageError("unknown_fault", message, **hint, **({"options": options} if options else {}))


def arrange(box: Rehearsed, name: str) -> None:
    """Make the box such that the fault will happen; called when everything is laid out and nothing runs yet."""
    if load()[name].where == "engine":
        box.environment["STAND_IN_FAULT"] = name
    arrangement = ARRANGEMENTS.get(name)
    if arrangement is not None:
        arrangement(box)


def _shard(folder: Path, number: int) -> Path:
    return sorted(folder.glob("*.safetensors"))[number]


def _gated(box: Rehearsed) -> None:
    box.hub.gated = True
    box.hub.token = os.urandom(16).hex()


def _hub_down(box: Rehearsed) -> None:
    box.hub.fail[""] = 1000


def _disk_full(box: Rehearsed) -> None:
    free = shutil.disk_usage(box.folder).free
    box.hub.claim[_shard(box.repository, -1).name] = free + 10**12


def _corrupt_shard(box: Rehearsed) -> None:
    shutil.copyfile(_shard(box.repository, 2), _shard(box.repository, 6))


def _missing_shard(box: Rehearsed) -> None:
    _shard(box.repository, 6).unlink()


def _damaged_on_disk(box: Rehearsed) -> None:
    shutil.copytree(box.repository, box.checkpoint)
    damaged = _shard(box.checkpoint, 6)
    os.truncate(damaged, damaged.stat().st_size // 2)


def _port_taken(box: Rehearsed) -> None:
    program = f"import socket, time; s = socket.create_server(('127.0.0.1', {box.port})); print(flush=True); time.sleep(1e6)"
    _bystander(box, program)


def _gpu_busy(box: Rehearsed) -> None:
    _hold_cards(box, "{}-other")


def _gpu_taken(box: Rehearsed) -> None:
    _hold_cards(box, "other-{}")  # a rank renames it to that of a card when it starts


def _hold_cards(box: Rehearsed, note: str) -> None:
    pid = _bystander(box, "import time; print(flush=True); time.sleep(1e6)")
    for card in range(8):
        (box.cards / note.format(card)).write_text(f"{pid} 85068 python3\n")


def _bystander(box: Rehearsed, program: str) -> int:
    """Somebody else's process on the host, once it has printed a line; it goes with the box."""
    process = subprocess.Popen(
        [box.python, "-I", "-S", "-c", program],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )

    def end() -> None:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()

    box.closing.callback(end)
    assert process.stdout is not None
    process.stdout.readline()
    return process.pid


def _no_engine(box: Rehearsed) -> None:
    for metadata in box.stand_in.folder.glob("lib/*/site-packages/vllm-*.dist-info"):
        shutil.rmtree(metadata)


def _few_gpus(box: Rehearsed) -> None:
    program = box.stand_in.folder / "tools" / "cards.py"
    with contextlib.suppress(FileNotFoundError):
        program.write_text(program.read_text().replace("CARDS = 8", "CARDS = 4"))


def _changed_host_key(box: Rehearsed) -> None:
    import paramiko

    line = box.server.known_hosts.read_text().split()
    other = paramiko.ECDSAKey.generate()
    box.server.known_hosts.write_text(f"{line[0]} {other.get_name()} {other.get_base64()}\n")


ARRANGEMENTS: Mapping[str, Callable[[Rehearsed], None]] = {
    "gated": _gated,
    "hub-down": _hub_down,
    "disk-full": _disk_full,
    "corrupt-shard": _corrupt_shard,
    "missing-shard": _missing_shard,
    "damaged-on-disk": _damaged_on_disk,
    "port-taken": _port_taken,
    "gpu-busy": _gpu_busy,
    "gpu-taken": _gpu_taken,
    "no-engine": _no_engine,
    "few-gpus": _few_gpus,
    "changed-host-key": _changed_host_key,
}
