"""What do memory, shared memory and logind of the machine mean for a launch?"""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.checks.check import Check, not_known
from orchestrator.facts import machine
from orchestrator.facts.examined import numa
from orchestrator.facts.gather import Facts
from orchestrator.facts.machine import Machine
from orchestrator.facts.source import Unknown

GIB = 1 << 30
LEAST_MEMORY = 16 * GIB
LEAST_SHM = GIB
"""What NCCL's documentation asks of /dev/shm at least (user guide, "Shared memory"); recipes give 16 GiB."""


def check(facts: Facts) -> Iterator[Check]:
    """The machine in one line, then its memory, /dev/shm, and what a logout would do."""
    system = facts.of(machine.FACT)
    if isinstance(system, Unknown):
        yield from not_known("machine", system)
        return
    kinds = (system.hostname, system.kernel, system.cpu_model, system.cpus and f"{system.cpus} CPUs")
    yield Check("machine", "pass", ", ".join(str(word) for word in kinds if word))
    yield from _memory(system)
    yield from _nodes(facts)
    yield from _shm(system, several=len(facts.cards) > 1)
    yield from _logout(system)


def _memory(system: Machine) -> Iterator[Check]:
    if system.memory_bytes is None or system.memory_free_bytes is None:
        yield Check("memory", "unknown", "/proc/meminfo does not tell it")
        return
    words = f"{system.memory_free_bytes / GIB:,.0f} of {system.memory_bytes / GIB:,.0f} GiB are free"
    if system.memory_free_bytes < LEAST_MEMORY:
        yield Check("memory", "warn", words, "ps -eo rss,pid,user,args --sort=-rss | head")
    else:
        yield Check("memory", "pass", words)


def _nodes(facts: Facts) -> Iterator[Check]:
    nodes = facts.of(numa.FACT)
    if isinstance(nodes, Unknown):
        yield from not_known("NUMA", nodes)
        return
    sizes = [f"{(node.memory_bytes or 0) / GIB:,.0f}" for node in nodes if node.cpus]
    single = len(sizes) == 1
    words = f"{len(sizes)} node{'' if single else 's'} with processors, of {' and '.join(sizes)} GiB"
    yield Check("NUMA", "pass", words)


def _shm(system: Machine, *, several: bool) -> Iterator[Check]:
    """Ranks of one launch talk through it; one GPU alone needs little."""
    if system.shm_bytes is None or system.shm_free_bytes is None:
        yield Check("/dev/shm", "unknown", "df does not tell its size")
        return
    words = f"{system.shm_free_bytes / GIB:.2f} of {system.shm_bytes / GIB:.2f} GiB are free"
    if system.shm_free_bytes >= LEAST_SHM or not several:
        yield Check("/dev/shm", "pass", words)
        return
    mend = (
        "sudo mount -o remount,size=16g /dev/shm    (a container: --ipc=host or --shm-size 16g)"
        if system.shm_bytes < LEAST_SHM
        else "ls -l /dev/shm"
    )
    yield Check("/dev/shm", "warn", f"{words}: NCCL asks for 1 GiB where GPUs work together", mend)


def _logout(system: Machine) -> Iterator[Check]:
    harms = []
    if system.logout_kills:
        harms.append("ends this user's processes (KillUserProcesses)")
    if system.logout_removes_shm:
        harms.append("removes this user's shared memory (RemoveIPC)")
    if harms:
        words = f"logind {' and '.join(harms)} at the last logout, a launch's too"
        yield Check("logout", "warn", words, f"loginctl enable-linger {system.user or ''}".rstrip())
    elif system.kill_user_processes is None and system.remove_ipc is None:
        yield Check("logout", "pass", "no logind answers: a launch outlives the connection")
    else:
        yield Check("logout", "pass", "a launch and its shared memory outlive the connection")
