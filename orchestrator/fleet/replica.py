"""What is one replica of a fleet: how is it called, where is it, on which cards?"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from orchestrator.base.amounts import bracketed

VISIBLE = "CUDA_VISIBLE_DEVICES"


@dataclass(frozen=True)
class Replica:
    """One instance of a playbook, by its number from 1. `address` and `port` are those at which it answers the router;
    `cards` are the numbers of its GPUs on the host, none for an engine on the CPU."""

    fleet: str
    number: int
    host: str
    address: str
    port: int
    cards: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        """Under which a host keeps its state."""
        return replica_name(self.fleet, self.number)

    @property
    def url(self) -> str:
        """By which a router knows it."""
        return f"http://{bracketed(self.address)}:{self.port}"

    @property
    def settings(self) -> tuple[str, ...]:
        """What is its own of the playbook, as `--set` takes it."""
        return (f"port={self.port}", f"listen={self.address}")

    @property
    def environment(self) -> tuple[str, ...]:
        """The same of the environment, as `--env` takes it."""
        return (f"{VISIBLE}={','.join(map(str, self.cards))}",) if self.cards else ()


def count_of(replicas: int) -> str:
    """So many in words."""
    return "1 replica" if replicas == 1 else f"{replicas} replicas"


def extent(replicas: Collection[Replica]) -> str:
    """How many there are, and on how many hosts, in words."""
    hosts = len({replica.host for replica in replicas})
    return f"{count_of(len(replicas))} on {'1 host' if hosts == 1 else f'{hosts} hosts'}"


def replica_name(fleet: str, number: int) -> str:
    return f"{fleet}-{number}"


def router_name(fleet: str) -> str:
    """Under which the router's host keeps its state."""
    return f"{fleet}-router"


def number_of(fleet: str, name: str) -> int | None:
    """Which replica of a fleet has this name; None for another deployment's."""
    match = re.fullmatch(rf"{re.escape(fleet)}-([1-9][0-9]{{0,3}})", name)
    return int(match[1]) if match else None


def numbers(cards: Collection[int]) -> str:
    """Cards in words: "GPU 0-3", "GPU 0,2"; "no GPU"."""
    if not cards:
        return "no GPU"
    runs: list[list[int]] = []
    for card in sorted(cards):
        if runs and card == runs[-1][-1] + 1:
            runs[-1].append(card)
        else:
            runs.append([card])
    return "GPU " + ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
