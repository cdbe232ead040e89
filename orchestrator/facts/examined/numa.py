"""How many NUMA nodes are there, with which processors and how much memory?"""

from __future__ import annotations

import re
from dataclasses import dataclass

from orchestrator.facts.source import Command, Fact, Output, Unknown, parsed, plain

_SCRIPT = r"""
for node in /sys/devices/system/node/node[0-9]*; do
  [ -d "$node" ] || continue
  cpus=$(cat "$node/cpulist")  # `read` gets nothing of it: dash asks for single bytes
  printf '%s cpus=%s ' "${node##*/node}" "$cpus"
  sed -n 's/^Node [0-9]* \(MemTotal\|MemFree\): *\([0-9]*\) kB/\1=\2/p' "$node/meminfo" | tr '\n' ' '
  echo
done
"""

COMMAND = Command.sh(f"exec 2>/dev/null{_SCRIPT}", timeout=10)


@dataclass(frozen=True)
class NumaNode:
    """One node; a node without processors is memory of a card (Grace Hopper) or of an expander."""

    number: int
    cpus: str
    """As in "0-63,128-191"."""
    memory_bytes: int | None
    free_bytes: int | None


def parse(output: Output) -> tuple[NumaNode, ...] | Unknown:
    """From /sys/devices/system/node."""
    nodes = []
    for line in output.out.splitlines():
        match = re.match(r"(\d{1,5}) cpus=([\d,-]*) ", line)
        if match:
            sizes = dict(re.findall(r"(MemTotal|MemFree)=(\d{1,15})", line))
            nodes.append(
                NumaNode(int(match[1]), match[2], _bytes(sizes.get("MemTotal")), _bytes(sizes.get("MemFree")))
            )
    if not nodes:
        return Unknown("numa_unread", "the host shows no NUMA nodes in /sys")
    return tuple(sorted(nodes, key=lambda node: node.number))


FACT = Fact("numa", plain(COMMAND), parsed(parse), tuple[NumaNode, ...], by_line=True)


def _bytes(kib: str | None) -> int | None:
    return None if kib is None else int(kib) * 1024
