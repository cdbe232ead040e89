"""Who holds the memory of the GPUs?"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from orchestrator.checks.check import Check, not_known
from orchestrator.facts import gpu_processes
from orchestrator.facts.gather import Facts
from orchestrator.facts.gpu_processes import GpuProcess
from orchestrator.facts.gpus import Gpu
from orchestrator.facts.source import Unknown
from orchestrator.plan.gpu_holders import holder
from orchestrator.plan.gpu_room import LITTLE_MIB

SUBJECT = "GPU memory"


def check(facts: Facts, ours: Collection[int] = ()) -> Iterator[Check]:
    """Each process that computes on a GPU, those of a launch of `ours` (by pid) as one, and memory of which nobody is listed as the
    holder."""
    cards, processes = facts.cards, facts.of(gpu_processes.FACT)
    if not cards:
        return
    if isinstance(processes, Unknown):
        yield from not_known(SUBJECT, processes)
        return
    numbers = {card.uuid: card.index for card in cards}
    own = [process for process in processes if process.pid in ours]
    if own:
        size = sum(process.memory_mib or 0 for process in own)
        pids = len({process.pid for process in own})
        words = f"{size:,} MiB are held by {pids} processes of the launch that is there"
        yield Check(SUBJECT, "pass", f"{_where(own, numbers)}: {words}")
    others = [process for process in processes if process.pid not in ours]
    for pid in dict.fromkeys(process.pid for process in others):
        same = [process for process in others if process.pid == pid]
        where = _where(same, numbers)
        yield Check(SUBJECT, "warn", f"{where}: {holder(same)}" if where else holder(same))
    hidden = [(card, mib) for card in cards if (mib := _hidden(card, processes)) > LITTLE_MIB]
    for card, mib in hidden:
        words = f"GPU{card.index}: {mib:,} MiB are held by what cannot be seen from here"
        yield Check(SUBJECT, "warn", words, "sudo fuser -v /dev/nvidia*")
    if not processes and not hidden:
        yield Check(SUBJECT, "pass", "nobody computes on a GPU")


def _where(processes: Sequence[GpuProcess], numbers: Mapping[str, int]) -> str:
    cards = dict.fromkeys(numbers[each.gpu_uuid] for each in processes if each.gpu_uuid in numbers)
    return ", ".join(f"GPU{number}" for number in cards)


def _hidden(card: Gpu, processes: Sequence[GpuProcess]) -> int:
    """MiB in use beyond what the listed processes hold; 0 where one of them does not tell."""
    held = [process.memory_mib for process in processes if process.gpu_uuid == card.uuid]
    return 0 if None in held else (card.memory_used_mib or 0) - sum(mib or 0 for mib in held)
