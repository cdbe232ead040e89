"""How are the GPUs connected, and which NCCL variables does that ask for?"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from orchestrator.facts import gpus
from orchestrator.facts.gpus import NVIDIA_PATH, failure
from orchestrator.facts.source import Command, Fact, Output, Unknown, parsed, plain

COMMAND = Command.sh(NVIDIA_PATH + "nvidia-smi topo -m", timeout=30)

NEAREST_FIRST = ("NVLINK", "PIX", "PXB", "PHB", "NODE", "SYS")
"""Kinds of links, nearest first; every NV# counts as NVLINK."""

LinkShape = Literal["single", "nvlink", "nvlink_partly", "pcie_switch", "pcie_bridge", "pcie_sockets"]

_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_GPU = re.compile(r"GPU\d+")


@dataclass(frozen=True)
class Topology:
    """The links between GPUs, as nvidia-smi letters them; they say nothing about whether P2P works."""

    links: tuple[tuple[str, ...], ...]
    """links[a][b] is "NV18", "PIX", "PXB", "PHB", "NODE" or "SYS", and "X" for a card with itself."""

    @property
    def gpus(self) -> int:
        return len(self.links)

    @property
    def farthest(self) -> tuple[str, int, int] | None:
        """The kind of the longest link and the first pair of GPUs that has it; None for a single GPU."""
        pairs = [(_kind(self.links[a][b]), a, b) for a in range(self.gpus) for b in range(a + 1, self.gpus)]
        return max(pairs, key=lambda pair: (NEAREST_FIRST.index(pair[0]), -pair[1], -pair[2]), default=None)

    def of(self, numbers: Sequence[int]) -> Topology:
        """The links between these GPUs alone, in this order."""
        return Topology(tuple(tuple(self.links[a][b] for b in numbers) for a in numbers))

    @property
    def shape(self) -> LinkShape:
        if self.farthest is None:
            return "single"
        kinds = {_kind(link) for row in self.links for link in row if link != "X"}
        if kinds == {"NVLINK"}:
            return "nvlink"
        if "NVLINK" in kinds:
            return "nvlink_partly"
        if kinds <= {"PIX", "PXB"}:
            return "pcie_switch"
        return "pcie_sockets" if "SYS" in kinds else "pcie_bridge"


@dataclass(frozen=True)
class Suggestion:
    """A variable that the topology asks for, and why."""

    name: str
    value: str
    reason: str


def _kind(link: str) -> str:
    return "NVLINK" if link.startswith("NV") else link


def parse(output: Output) -> Topology | Unknown:
    """The links from `nvidia-smi topo -m`.

    A matrix that is not whole (cut off, not square, not symmetric) is Unknown: it must not pass as a
    smaller host.
    """
    if (failed := failure(output)) is not None:
        return failed
    matrix = square(output.out)
    if isinstance(matrix, Unknown):
        return matrix
    for a, row in enumerate(matrix):
        for b, link in enumerate(row):
            if not re.fullmatch(r"X|NV\d+|PIX|PXB|PHB|NODE|SYS", link):
                return Unknown(
                    "topology_unreadable", f"GPU{a} to GPU{b} is {link!r}, which is no kind of link"
                )
            if (link == "X") != (a == b) or link != matrix[b][a]:
                return Unknown(
                    "topology_unreadable",
                    f"GPU{a} to GPU{b} is {link}, GPU{b} to GPU{a} is {matrix[b][a]}: the matrix is damaged",
                )
    return Topology(matrix)


def _of_the_same_host(links: Topology, known: Mapping[str, object]) -> Topology | Unknown:
    """A matrix of fewer or more GPUs than were queried is not this host's."""
    cards = known.get(gpus.FACT.name)
    if not isinstance(cards, gpus.Gpus) or links.gpus == len(cards.gpus):
        return links
    return Unknown(
        "topology_unreadable", f"the matrix has {links.gpus} GPUs, the query named {len(cards.gpus)}"
    )


FACT = Fact("topology", plain(COMMAND), parsed(parse), Topology, beside=_of_the_same_host)


def square(text: str) -> tuple[tuple[str, ...], ...] | Unknown:
    """The square of cells between GPUs; columns of NICs and affinities are left out."""
    header: list[str] | None = None
    rows: dict[str, tuple[str, ...]] = {}
    for line in _ANSI.sub("", text).splitlines():
        cells = [cell.strip() for cell in line.split("\t")] if "\t" in line else line.split()
        if header is None:
            columns = [cell for cell in cells if _GPU.fullmatch(cell)]
            if columns and not line.startswith(("GPU", " GPU")):
                header = columns
        elif cells and _GPU.fullmatch(cells[0]):
            rows[cells[0]] = tuple(cells[1 : 1 + len(header)])
    if not header:
        return Unknown("topology_unreadable", "nvidia-smi topo printed no matrix")
    if list(rows) != header or any(len(row) < len(header) or "" in row for row in rows.values()):
        return Unknown(
            "topology_unreadable",
            f"the matrix names {len(header)} GPUs and has {len(rows)} whole rows: it was cut off",
        )
    return tuple(rows.values())


def suggest_nccl(
    topology: Topology,
    *,
    sockets: int | None,
    cpu_vendor: str | None,
    no_p2p: tuple[tuple[int, int, str], ...] = (),
    among: Sequence[int] | None = None,
) -> tuple[Suggestion, ...]:
    """What to set for collectives of these GPUs of one node (`among`, by number; all unless told); often nothing, which is a
    real answer.

    NVIDIA counts these variables as debugging aids: each is set only where NCCL's own choice is known to be
    poor. NODE needs PHB: NCCL has no level of its own for it. Sources: NCCL's env.rst and paths.cc (2.30).
    """
    numbers = tuple(range(topology.gpus)) if among is None else tuple(among)
    part = topology.of(numbers)
    farthest = part.farthest
    if farthest is None:
        return ()
    refused = [pair for pair in no_p2p if pair[0] in numbers and pair[1] in numbers]
    if refused:
        a, b, word = refused[0]
        reason = f"the driver says {word} for GPU{a}-GPU{b} and every other pair (topo -p2p r)"
        everywhere = len(refused) == part.gpus * (part.gpus - 1) // 2
        # where some pairs can, NCCL asks the driver about each pair by itself
        return (Suggestion("NCCL_P2P_DISABLE", "1", reason),) if everywhere else ()
    kind, a, b = farthest
    level = {"PHB": "PHB", "NODE": "PHB", "SYS": "SYS"}.get(kind)
    amd = cpu_vendor == "AuthenticAMD"
    if level is None or (part.gpus == 2 and amd):
        return ()
    across = "across NUMA nodes" if kind == "SYS" else "through the CPU's host bridge"
    pair = f"GPU{numbers[a]}-GPU{numbers[b]}"
    suggestions = [Suggestion("NCCL_P2P_LEVEL", level, f"{pair} is {kind}, {across} (nvidia-smi topo)")]
    if kind == "SYS" and sockets == 2 and amd and part.shape == "pcie_sockets":
        suggestions.append(
            Suggestion(
                "NCCL_PROTO", "LL", "two AMD sockets (lscpu), where NCCL misjudges the links' bandwidth"
            )
        )
    return tuple(suggestions)
