"""Do limits of this user or of a container stand in the way of an engine?"""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.checks.check import Check, not_known
from orchestrator.facts import limits
from orchestrator.facts.examined import network
from orchestrator.facts.gather import Facts
from orchestrator.facts.limits import UserLimits
from orchestrator.facts.source import Unknown

SUBJECT = "limits"
GIB = 1 << 30
LEAST_FILES = 4096
"""Sockets of clients, shards and ranks; a session over SSH often has 1024."""
RAISED_FILES = 65535
"""To this an engine raises its own soft limit, where the hard one lets it; else the soft one stays."""
LEAST_PROCESSES = 4096
"""Threads count as processes: each rank starts hundreds."""


def check(facts: Facts) -> Iterator[Check]:
    """Open files, threads, memory that may be pinned, and what a control group allows."""
    read = facts.of(limits.FACT)
    if isinstance(read, Unknown):
        yield from not_known(SUBJECT, read)
        return
    narrow = [*_files(read), *_processes(read), *_pinned(facts, read), *_group(read)]
    yield from narrow
    if not narrow:
        where = f" in a container ({read.container})" if read.container else ""
        yield Check(SUBJECT, "pass", f"open files, threads and pinned memory suffice{where}")


def _files(read: UserLimits) -> Iterator[Check]:
    files = read.open_files
    if files is None or files.soft is None or files.hard is None or files.hard >= RAISED_FILES:
        return
    if files.soft < LEAST_FILES:
        words = f"{files.soft} open files at most (hard limit {files.hard}): many clients need more"
        yield Check(SUBJECT, "warn", words, "LimitNOFILE= of sshd, or nofile in /etc/security/limits.conf")


def _processes(read: UserLimits) -> Iterator[Check]:
    counts = [read.processes.soft if read.processes else None, read.tasks]
    least = min((count for count in counts if count is not None), default=None)
    if least is not None and least < LEAST_PROCESSES:
        words = f"{least} processes and threads at most: each rank starts hundreds"
        yield Check(SUBJECT, "warn", words, "ulimit -u unlimited    (a container: --pids-limit -1)")


def _pinned(facts: Facts, read: UserLimits) -> Iterator[Check]:
    """Only RDMA pins what this limit counts: CUDA's own memory does not."""
    links = facts.of(network.FACT)
    rdma = not isinstance(links, Unknown) and any(port.active for port in links.rdma)
    if rdma and read.locked_bytes and read.locked_bytes.soft is not None and read.locked_bytes.soft < GIB:
        words = f"{read.locked_bytes.soft / (1 << 20):,.0f} MiB may be pinned: NCCL over RDMA needs more"
        yield Check(SUBJECT, "warn", words, "ulimit -l unlimited    (a container: --ulimit memlock=-1)")


def _group(read: UserLimits) -> Iterator[Check]:
    if read.memory_bytes is not None:
        words = (
            f"the control group allows {read.memory_bytes / GIB:,.0f} GiB of memory, whatever the machine has"
        )
        yield Check(SUBJECT, "warn", words)
