"""Whether there is room on the cards for a launch, who takes it, and what a person could do."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from orchestrator.facts.gpu_processes import GpuProcess
from orchestrator.facts.gpus import Gpu
from orchestrator.plan.gpu_room import Demand, Shortage, after_waiting, at_most_in_use, shortage
from orchestrator.programs.cleanup import Waited
from tests.surveys import cards

TOTAL = 97887
TRAINING = "/opt/venv/bin/python3 train.py --api-key sk-very-secret"


def on(card: int, mib: int | None, *, pid: int = 8121, **more: Any) -> GpuProcess:
    known = {"name": "/opt/venv/bin/python3", "user": "ml", "command": TRAINING, **more}
    return GpuProcess(f"GPU-{card}", pid, memory_mib=mib, **known)


def used(**mib: int | None) -> tuple[Gpu, ...]:
    """Eight cards with 2 MiB in use, but for those named gpu0, gpu1, ..."""
    return tuple(
        replace(card, memory_used_mib=mib.get(f"gpu{card.index}", card.memory_used_mib))
        for card in cards().gpus
    )


asking = functools.partial(Demand, "vLLM", "gpu-memory-utilization")
FOUR = asking(4, 0.9)


@dataclass(frozen=True)
class Case:
    cards: tuple[Gpu, ...]
    processes: tuple[GpuProcess, ...]
    launch: Demand = FOUR
    own: frozenset[int] = frozenset()
    card: int | None = 0
    """Where it is short; None where it is not, or nobody can tell."""
    words: tuple[str, ...] = ()
    cure: dict[str, str] | None = None
    more: dict[str, Any] = field(default_factory=dict)


MIXED = (replace(cards().gpus[0], name="RTX 4000", memory_mib=8192, memory_used_mib=3000), cards().gpus[1])
"""A workstation: the card of the screen sits first on the bus, the stronger one is CUDA's first."""
OTHERS = {"cards": "1,2,3,4"}
CASES = {
    "idle cards": Case(used(), (), card=None),
    "a process of somebody else": Case(
        used(gpu0=85070),
        (on(0, 85068),),
        words=("GPU0 has 12,817 of 97,887 MiB free", "(0.9 of it)", "pid 8121 (python3 train.py", "user ml) holds 85,068 MiB"),
        cure=OTHERS,
    ),
    "all eight are needed, and all are short": Case(
        used(**{f"gpu{number}": 85070 for number in range(8)}),
        tuple(on(number, 85068) for number in range(8)),
        asking(8, 0.9),
        words=("7 more are short", "holds 680,544 MiB on 8 GPUs"),
    ),
    "a share of the card would do": Case(
        used(gpu0=30002), (on(0, 30000),), asking(8, 0.9), cure={"setting": "arguments.gpu-memory-utilization=0.67"}
    ),
    "the cards that are meant have room": Case(used(gpu7=85070), (on(7, 85068),), card=None),
    "the playbook names the busy one": Case(used(gpu7=85070), (on(7, 85068),), asking(1, 0.9, "7"), card=7),
    "the playbook names others by uuid": Case(used(gpu0=85070), (on(0, 85068),), asking(2, 0.9, "GPU-1,GPU-2"), card=None),
    "a card that does not exist is not judged": Case(used(gpu0=85070), (on(0, 85068),), asking(1, 0.9, "0,11"), card=None),
    "no card may be seen": Case(used(gpu0=85070), (on(0, 85068),), asking(1, 0.9, ""), card=None),
    "what our own launch holds is given back": Case(
        used(gpu0=88000), (on(0, 87998, pid=7),), own=frozenset({7}), card=None
    ),
    "our own and somebody else": Case(
        used(gpu0=96000), (on(0, 50000, pid=7), on(0, 45998)), own=frozenset({7}), words=("holds 45,998 MiB",), cure=OTHERS
    ),
    "in a container ours cannot be told from others": Case(
        used(gpu0=88000), (on(0, 87998, pid=4711),), own=frozenset({7}), card=None
    ),
    "held by what nobody lists": Case(
        used(gpu0=85070), (), words=("85,070 MiB are held by what cannot be seen from here",), cure=OTHERS
    ),
    "listed without an amount, by another container": Case(
        used(gpu0=85070), (on(0, None, name=None, user=None, command=None),),
        words=("pid 8121 (not to be seen from here) holds memory",), cure=OTHERS, more={"unseen_mib": 0},
    ),
    "processes of two users": Case(
        used(gpu0=60002), (on(0, 40000), on(0, 20000, pid=9, user="eve", command="/usr/bin/ollama serve")), asking(8, 0.9),
        words=("pid 8121 (python3 train.py --api-key ***, user ml) holds 40,000 MiB; pid 9 (ollama serve, user eve) holds 20,000 MiB",),
    ),
    "some of it is listed, beside what others hold elsewhere": Case(
        used(gpu0=85070, gpu1=60000), (on(0, 40000), on(1, 59998, pid=5), on(7, 10, pid=6)), asking(4, 0.9),
        words=("and 1 more is short", "45,070 MiB are held by what cannot be seen from here"),
        more={"holders": (on(0, 40000), on(1, 59998, pid=5)), "needed_mib": 87526},
    ),
    "all of it is listed, and of another card an amount is not told": Case(
        used(gpu0=85070, gpu1=60000), (on(0, 85068), on(1, None, pid=5)), asking(4, 0.9), more={"unseen_mib": 2}
    ),
    "as little as may be asked for is left": Case(
        used(gpu0=TOTAL - 22024), (), asking(8, 0.9), cure={"setting": "arguments.gpu-memory-utilization=0.2"}
    ),
    "less than that is of no use": Case(used(gpu0=TOTAL - 21045), (), asking(8, 0.9), cure={}),
    "one of two does not tell, the other is short": Case(used(gpu0=None, gpu1=85070), (), card=None),
    "a desktop takes a little": Case(used(gpu0=3500), (), asking(4, 0.99), more={"little": True}),
    "a card that does not tell": Case(used(gpu0=None), (on(0, 85068),), card=None),
    "a card that is cut up": Case(
        tuple(replace(card, mig="Enabled") for card in used(gpu0=85070)), (on(0, 85068),), card=None
    ),
    "fewer cards than are needed are another matter": Case(used(gpu0=85070)[:2], (), card=None),
    "the card of the screen comes first for nvidia-smi alone": Case(MIXED, (), asking(1, 0.9), card=None),
    "a number means another card to CUDA": Case(MIXED, (), asking(1, 0.9, "0"), card=None),
    "both cards are taken": Case(MIXED, (), asking(2, 0.9)),
    "of two sizes the one that is fuller counts": Case(
        (MIXED[0], replace(MIXED[1], memory_used_mib=85070)), (), asking(2, 0.9), card=1
    ),
    "numbered by the bus": Case(
        MIXED, (), asking(1, 0.9, by_bus=True), cure={"cards": "1"}
    ),
    "no number is advised that means another card": Case(
        MIXED, (), asking(1, 0.9, "GPU-0"), cure={"setting": "arguments.gpu-memory-utilization=0.61"}
    ),
    "just enough": Case(used(gpu0=TOTAL - 88000), (on(0, TOTAL - 88000),), card=None),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_room(name: str) -> None:
    case = CASES[name]
    short = shortage(case.cards, case.processes, case.launch, own=case.own)
    if case.card is None:
        assert short is None
        return
    assert isinstance(short, Shortage)
    assert short.card.index == case.card
    assert [word for word in case.words if word not in short.sentence] == []
    assert "sk-very" not in short.sentence
    if case.cure is not None:
        assert short.cure == case.cure
    assert all(getattr(short, key) == value for key, value in case.more.items())


def test_what_may_be_in_use_on_each_card_is_what_is_not_short() -> None:
    at_most = at_most_in_use(used(), FOUR)
    assert at_most == dict.fromkeys(("GPU-0", "GPU-1", "GPU-2", "GPU-3"), 11236)
    assert shortage(used(gpu0=11236), (), FOUR) is None
    assert shortage(used(gpu0=11237), (), FOUR) is not None
    # what a desktop takes is left to the remedy that lowers the share
    assert at_most_in_use(used(), asking(1, 0.99)) == {"GPU-0": 3915}
    assert at_most_in_use((replace(cards().gpus[0], mig="Enabled"),), asking(1, 0.9)) == {}
    assert at_most_in_use((replace(cards().gpus[0], memory_mib=None),), asking(1, 0.9)) == {}


def test_what_the_host_answered_after_it_had_waited() -> None:
    one = {"gpu_uuid": "GPU-0", "pid": 8121, "name": "x", "memory_mib": 40000, "user": None, "command": None}
    waited = Waited.model_validate({"seconds": 5.0, "used_mib": {"GPU-0": 40002}, "holders": [one]})
    now, processes = after_waiting(used(), waited)
    assert [card.memory_used_mib for card in now[:2]] == [40002, 2]
    assert processes[0].memory_mib == 40000
