"""Into which parts are the GPUs cut up (MIG)?"""

from __future__ import annotations

import re
from dataclasses import dataclass

from orchestrator.facts.gpus import NVIDIA_PATH, failure
from orchestrator.facts.source import Command, Fact, Output, Unknown, parsed, plain

COMMAND = Command.sh(NVIDIA_PATH + "nvidia-smi -L 2>&1", timeout=30)


@dataclass(frozen=True)
class MigDevice:
    """One part of a card, which a program sees as a card of its own."""

    gpu: int
    """The index of the card."""
    profile: str
    """As in "3g.71gb": slices of computing, and memory."""
    uuid: str
    """What CUDA_VISIBLE_DEVICES takes."""


def parse(output: Output) -> tuple[MigDevice, ...] | Unknown:
    """The parts in the list of `nvidia-smi -L`; empty where no card is cut up."""
    if (failed := failure(output)) is not None:
        return failed
    devices, gpu, cards = [], 0, 0
    for line in output.out.splitlines():
        card = re.match(r"GPU (\d{1,4}): ", line)
        part = re.fullmatch(r"\s+MIG (\S+)\s+Device\s+\d{1,4}: \(UUID: (MIG-\S+)\)", line)
        if card:
            gpu, cards = int(card[1]), cards + 1
        elif part and cards:
            devices.append(MigDevice(gpu, part[1], part[2]))
    if not cards:
        return Unknown("mig_unread", f"nvidia-smi -L lists no GPU (exit status {output.rc})")
    return tuple(devices)


FACT = Fact("mig", plain(COMMAND), parsed(parse), tuple[MigDevice, ...])
