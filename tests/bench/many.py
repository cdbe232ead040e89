"""How long does the state of 100 hosts take, in how much memory, against the tools that would run one command on each?

    python tests/bench/many.py [--hosts 10,30,100] [--rounds N] [--rivals PYTHON] [--parallel N]

Prints one line a figure: its name, the figure, the bar. The hosts are addresses of loopback (127.0.0.1 and on) at one sshd, each with a
HOME and a state of its own; what they do costs the same processors. Each figure is of a whole process: start, connect to all, look,
end; the first round of each, which reads from disk, is not counted. What sshd and all that it starts take of the processors is told
beside it: in earnest hosts have their own. Memory is the largest sum of the proportional sizes of the process and all its children. `--rivals` is the python of an environment with
pyinfra and ansible-core; what is not installed there is skipped. Each tool may be at work on as many hosts at once.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ground import ROOT, line, load, shown

from tests.sshd import Settings, Sshd, end_sshd, launch_sshd

BAR_MB = 150
POLL_SECONDS = 0.02
ENDING_SECONDS = 2.0
"""How long connections may take to end after the tool; those that ansible leaves open are ended then, for what they took is its own."""
PR_SET_CHILD_SUBREAPER = 36  # include/uapi/linux/prctl.h


@dataclass(frozen=True)
class Taken:
    """What one command took."""

    seconds: float
    processors: float
    """Seconds of processor time of the process and its children; not of the hosts."""
    of_hosts: float
    """The same of sshd and all that it started meanwhile."""
    mb: float


def addresses(count: int) -> tuple[str, ...]:
    return tuple(f"127.0.{number // 200}.{1 + number % 200}" for number in range(count))


def name_of(number: int) -> str:
    return f"gpu{number + 1:03}"


def reach(server: Sshd, folder: Path, count: int) -> None:
    """An ssh_config with a name for each host, and a file of their names."""
    key = server.known_hosts_line().split(" ", 1)[1]
    places = addresses(count)
    server.known_hosts.write_text("".join(f"[{place}]:{server.port} {key}" for place in places))
    stanzas = [
        server.host_stanza(HostName=place).replace(f"Host {server.alias}", f"Host {name_of(number)}", 1)
        for number, place in enumerate(places)
    ]
    (folder / "ssh_config").write_text("\n".join(stanzas))


def ways(folder: Path, count: int, parallel: int, rivals: str | None) -> dict[str, list[str]]:
    """A command line a tool."""
    names = [name_of(number) for number in range(count)]
    (folder / "hosts.txt").write_text("\n".join(names) + "\n")
    found = {
        "deploy status": [
            sys.executable, "-m", "orchestrator.cli.main", "status", "kimi-k2.5", "--ssh-config", "ssh_config",
            "--hosts", "hosts.txt", "--parallel", str(parallel),
        ]
    }  # fmt: skip
    tools = Path(rivals).parent if rivals else Path("/nonexistent")
    if (tools / "pyinfra").exists():
        data = {"ssh_config_file": str(folder / "ssh_config")}
        (folder / "hosts.py").write_text(f"hosts = {[(name, data) for name in names]!r}\n")
        found["pyinfra"] = [
            str(tools / "pyinfra"),
            "-y",
            "--parallel",
            str(parallel),
            "hosts.py",
            "exec",
            "--",
            "true",
        ]
    if (tools / "ansible").exists():
        found["ansible-core"] = [
            str(tools / "ansible"), "all", "-i", "hosts.txt", "-m", "ansible.builtin.command", "-a", "true",
            "-f", str(parallel), "--ssh-common-args", f"-F {folder / 'ssh_config'}",
            "-e", f"ansible_python_interpreter={sys.executable}",
        ]  # fmt: skip
    return found


def take(command: Sequence[str], folder: Path, environment: Mapping[str, str], server: Sshd) -> Taken:
    """Carry a command out and watch what it takes."""
    before, began = spent(server), time.monotonic()
    largest = 0.0
    with (folder / "printed").open("wb") as printed:
        pid = subprocess.Popen(command, cwd=folder, env=environment, stdout=printed, stderr=printed).pid
        ended = 0
        while not ended:
            largest = max(largest, resident(pid))
            time.sleep(POLL_SECONDS)
            ended, status, used = os.wait4(pid, os.WNOHANG)
    seconds = time.monotonic() - began
    if status != 0:
        text = (folder / "printed").read_text(errors="replace")
        raise SystemExit(f"{command[0]} left with {os.waitstatus_to_exitcode(status)}: {text[-2000:]}")
    give_up = time.monotonic() + ENDING_SECONDS
    while sessions := server.session_pids():
        if time.monotonic() > give_up:
            for session in sessions:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(session, signal.SIGTERM)
        time.sleep(POLL_SECONDS)
    processors = used.ru_utime + used.ru_stime
    return Taken(seconds, processors, spent(server) - before - processors, largest / 1e6)


def spent(server: Sshd) -> float:
    """Seconds of processor time of the server, and of all children of this process and of it that have ended."""
    for text in Path("/proc/self/task", str(os.getpid()), "children").read_text().split():
        if int(text) != server.process.pid:  # sshd did not wait for it
            with contextlib.suppress(ChildProcessError):
                os.waitpid(int(text), os.WNOHANG)
    times = os.times()
    fields = Path(f"/proc/{server.process.pid}/stat").read_text().rpartition(")")[2].split()
    ticks = sum(map(int, fields[11:15]))
    return times.children_user + times.children_system + ticks / os.sysconf("SC_CLK_TCK")


def resident(pid: int) -> int:
    """Bytes of a process and its children; of pages that several have each has its share."""
    return sum(_sizes(pid))


def _sizes(pid: int, parents: str = "") -> Iterator[int]:
    try:
        command = Path(f"/proc/{pid}/cmdline").read_text() + Path(f"/proc/{pid}/statm").read_text().split()[0]
        if command == parents:  # it is about to become a program, and has its parent's memory until then
            return
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
        yield int(rollup.partition("\nPss:")[2].split()[0]) * 1024
        children = [
            int(child)
            for task in Path(f"/proc/{pid}/task").iterdir()
            for child in (task / "children").read_text().split()
        ]
    except (OSError, IndexError):  # it has just ended
        return
    for child in children:
        yield from _sizes(child, command)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--hosts", default="10,30,100", help="how many, one after the other")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--parallel", type=int, default=32)
    parser.add_argument("--rivals", help="python of an environment with pyinfra and ansible-core")
    given = parser.parse_args()
    counts = [int(count) for count in given.hosts.split(",")]
    ctypes.CDLL(None).prctl(
        PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0
    )  # what sshd leaves behind comes to us, and is counted
    server = launch_sshd(Settings(addresses=addresses(max(counts)), lines=["MaxStartups 1000"]))
    try:
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            reach(server, folder, max(counts))
            environment = {
                **{name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"},
                "HOME": temporary,
                "PYTHONPATH": str(ROOT),
                "PYTHONPYCACHEPREFIX": f"{temporary}/compiled",  # as an installed package is, and the rivals are
                "ANSIBLE_PIPELINING": "1",
            }
            for count in counts:
                commands = ways(folder, count, given.parallel, given.rivals)
                taken: dict[str, list[Taken]] = {tool: [] for tool in commands}
                for number in range(given.rounds + 1):  # they alternate, so that all meet the same load
                    for tool, command in commands.items():
                        once = take(command, folder, environment, server)
                        if number:
                            taken[tool].append(once)
                load()
                for tool, times in taken.items():
                    tell(count, tool, times)
    finally:
        end_sshd(server)


def tell(count: int, tool: str, times: Sequence[Taken]) -> None:
    ours = tool == "deploy status"
    seconds = shown([once.seconds for once in times])
    line(f"{count} hosts, {tool}", seconds, "first" if ours else "behind deploy")
    of_processors = shown([once.processors for once in times])
    line(f"of it processors of the controller, {tool}", of_processors, "none")
    of_hosts = shown([once.of_hosts for once in times])
    line(f"processors of the hosts meanwhile, {tool}", of_hosts, "none")
    memory = f"{max(once.mb for once in times):.0f} MB"
    line(f"its memory, {tool}", memory, f"{BAR_MB} MB" if ours else "none")


if __name__ == "__main__":
    main()
