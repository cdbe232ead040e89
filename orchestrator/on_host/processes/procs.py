"""Which processes live on this machine, told apart so that a reused pid is never mistaken?"""

from __future__ import annotations

import contextlib
import os
import pwd
import re
import select
import signal
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

MARKER = "DEPLOY_LAUNCH"
_KERNEL_THREAD = 0x00200000  # PF_KTHREAD, include/linux/sched.h


@dataclass(frozen=True)
class Process:
    """One process as `/proc/PID/stat` shows it.

    `start_time` is in clock ticks since boot (field 22); together with the pid it names a process for
    as long as the machine is up.
    """

    pid: int
    parent: int
    session: int
    start_time: int
    state: str
    threads: int
    comm: str
    kernel: bool = False

    @property
    def alive(self) -> bool:
        """A zombie is dead, unless its main thread alone has ended: the others still hold memory."""
        return self.state not in "ZX" or self.threads > 1


def parse_stat(text: str) -> Process:
    """The process in the text of `/proc/PID/stat`; the name in it may hold spaces and parentheses."""
    head, _, tail = text.rpartition(")")
    pid, _, comm = head.partition("(")
    fields = tail.split()  # fields[0] is field 3 of proc(5), the state
    return Process(
        pid=int(pid),
        parent=int(fields[1]),
        session=int(fields[3]),
        start_time=int(fields[19]),
        state=fields[0],
        threads=int(fields[17]),
        comm=comm,
        kernel=bool(int(fields[6]) & _KERNEL_THREAD),
    )


def read_bytes(path: str) -> bytes:
    """A file of /proc whole; empty where the process is gone or may not be looked into."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:  # a buffered file costs half as much again, for every process of the machine
        parts = iter(lambda: os.read(descriptor, 1 << 16), b"")
        return b"".join(parts)
    except OSError:
        return b""
    finally:
        os.close(descriptor)


def read_link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


def process(pid: int) -> Process | None:
    """The process with this pid now, dead or alive."""
    text = read_bytes(f"/proc/{pid}/stat").decode(errors="replace")
    return parse_stat(text) if text else None


def processes() -> dict[int, Process]:
    """Every process that can be seen, the dead that nobody has reaped included."""
    listed = (process(int(name)) for name in os.listdir("/proc") if name.isdecimal())
    return {each.pid: each for each in listed if each}


def same(earlier: Process) -> bool:
    """Whether this very process still lives."""
    now = process(earlier.pid)
    return now is not None and now.start_time == earlier.start_time and now.alive


def marker(pid: int) -> str | None:
    """The launch that a process's environment names, if any.

    Not enough by itself: setproctitle writes its title over the environment, so that vLLM's
    `VLLM::EngineCore` and `VLLM::Worker_TP0` show none (seen with vLLM 0.32).
    """
    wanted = b"\0" + MARKER.encode() + b"="
    # Searched, not taken apart: it is asked of every process of the machine.
    _, equals, after = (b"\0" + read_bytes(f"/proc/{pid}/environ")).partition(wanted)
    return after.partition(b"\0")[0].decode(errors="replace") if equals else None


def environment(pid: int) -> dict[str, str]:
    """What a process was started with; {} where nobody may know, or a title stands over it."""
    entries = (entry.partition(b"=") for entry in read_bytes(f"/proc/{pid}/environ").split(b"\0"))
    return {os.fsdecode(name): os.fsdecode(value) for name, equals, value in entries if equals}


def outputs(pid: int) -> frozenset[str]:
    """Where a process's standard output and error go: paths without symbolic links."""
    return frozenset(read_link(f"/proc/{pid}/fd/{number}").replace(" (deleted)", "") for number in (1, 2))


def writes(pid: int, path: str) -> bool:
    """Whether a process has a file open for writing: a path without symbolic links."""
    try:
        numbers = os.listdir(f"/proc/{pid}/fd")
    except OSError:
        return False
    return any(
        read_link(f"/proc/{pid}/fd/{number}") == path and _flags(pid, number) & os.O_ACCMODE != os.O_RDONLY
        for number in numbers
    )


def _flags(pid: int, number: str) -> int:
    """With which flags a descriptor was opened, as proc(5) tells in octal."""
    for line in read_bytes(f"/proc/{pid}/fdinfo/{number}").splitlines():
        if line.startswith(b"flags:"):
            return int(line.split()[1], 8)
    return os.O_RDONLY


def lineage(pid: int, table: Mapping[int, Process]) -> set[int]:
    """A process and its ancestors."""
    above: set[int] = set()
    while pid in table and pid not in above:
        above.add(pid)
        pid = table[pid].parent
    return above


def has_terminal(pid: int) -> bool:
    """Whether a process has a terminal, as a person's shell does."""
    fields = read_bytes(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    return len(fields) > 4 and fields[4] != b"0"


def command(pid: int) -> str:
    """The command line on one line, joined with spaces; a title where the process renamed itself."""
    return re.sub(r"[\0\r\n]", " ", read_bytes(f"/proc/{pid}/cmdline").decode(errors="replace")).strip()


def name(process: Process) -> str:
    """The kernel's name, completed from the title where its 15 bytes cut one off."""
    title = command(process.pid).split(" ")[0]
    return title if process.comm and title.startswith(process.comm) else process.comm


def resident_bytes(pid: int) -> int:
    fields = read_bytes(f"/proc/{pid}/statm").split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE") if fields else 0


def cpu_seconds(pid: int) -> float:
    """Processor time of a process so far, 0 where it is gone."""
    fields = read_bytes(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") if len(fields) > 12 else 0.0


def disk_bytes_read(pid: int) -> int:
    """What a process had fetched from disks so far, mapped files included; 0 where nobody may know."""
    for line in read_bytes(f"/proc/{pid}/io").splitlines():
        if line.startswith(b"read_bytes: "):
            return int(line.split()[1])
    return 0


def user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def owner_uid(pid: int) -> int | None:
    try:
        return os.stat(f"/proc/{pid}").st_uid
    except OSError:
        return None


def owner(pid: int) -> str | None:
    uid = owner_uid(pid)
    return None if uid is None else user(uid)


def container(pid: int) -> str | None:
    """The first twelve digits of its container's id, as `docker ps` shows them; None where it is in none."""
    match = re.search(rb"[0-9a-f]{64}", read_bytes(f"/proc/{pid}/cgroup"))
    return match[0][:12].decode() if match else None


def started(process: Process) -> float | None:
    """When a process started, seconds since 1970."""
    for line in read_bytes("/proc/stat").splitlines():
        if line.startswith(b"btime "):
            return int(line.split()[1]) + process.start_time / os.sysconf("SC_CLK_TCK")
    return None


def since(process: Process) -> str | None:
    """When a process started, host time, UTC, ISO 8601 to the second."""
    seconds = started(process)
    if seconds is None:
        return None
    return time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(seconds))


def open_pidfd(process: Process) -> int | None:
    """A descriptor of this very process, readable once it is dead; None where the kernel has none.

    Raises ProcessLookupError when the process is gone, its pid reused or not.
    """
    try:
        descriptor = os.pidfd_open(process.pid)
    except ProcessLookupError:
        raise
    except (AttributeError, OSError):  # before Linux 5.3, or a sandbox that forbids it
        if not same(process):
            raise ProcessLookupError(process.pid) from None
        return None
    if same(process):
        return descriptor
    os.close(descriptor)
    raise ProcessLookupError(process.pid)


def send(process: Process, number: signal.Signals) -> bool:
    """Send a signal to this very process; False when it is gone. Raises PermissionError."""
    try:
        descriptor = open_pidfd(process)
        if descriptor is None:
            os.kill(process.pid, number)
            return True
        try:
            signal.pidfd_send_signal(descriptor, number)
        finally:
            os.close(descriptor)
    except ProcessLookupError:
        return False
    return True


def wait_for_end(of: Iterable[Process], seconds: float) -> None:
    """Wait until one of these processes is dead, or the seconds are over."""
    with contextlib.ExitStack() as stack:
        poll = select.poll()
        watched = True
        for process in of:
            try:
                descriptor = open_pidfd(process)
            except ProcessLookupError:
                return
            if descriptor is None:
                watched = False
            else:
                stack.callback(os.close, descriptor)
                poll.register(descriptor, select.POLLIN)
        if watched:
            poll.poll(max(0.0, seconds) * 1000)
        else:
            time.sleep(max(0.0, min(seconds, 0.05)))
