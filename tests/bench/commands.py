"""How long do twenty remote commands on one host take, against the tools that one would take otherwise?

    python tests/bench/commands.py [--rounds N] [--rivals PYTHON]

Prints one line a figure: its name, the figure, the bar. Each is a whole process: start, connect, twenty commands one
after the other, end. `--rivals` is the python of an environment with pyinfra and ansible-core; what is not
installed there is skipped. The rounds of all tools alternate, so that all meet the same load.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from ground import ROOT, line, load, shown

from tests.sshd import Settings, Sshd, end_sshd, launch_sshd

BAR = 0.5
COMMANDS = 20
OURS = """
import sys, time
from orchestrator.hosts.connect import open_host
import orchestrator.hosts.hops
began = time.monotonic()
alias, config, count = sys.argv[1:]
with open_host(alias, ssh_config=config) as host:
    for number in range(int(count)):
        assert host.run(f"echo {number}").stdout == f"{number}\\n".encode()
print(time.monotonic() - began)
"""
FABRIC = """
import sys, time
from fabric import Config, Connection
began = time.monotonic()
alias, config, count = sys.argv[1:]
with Connection(alias, config=Config(runtime_ssh_path=config)) as host:
    for number in range(int(count)):
        assert host.run(f"echo {number}", hide=True).stdout == f"{number}\\n"
print(time.monotonic() - began)
"""
PYINFRA = "from pyinfra.operations import server\n" + "".join(
    f"server.shell(name='{number}', commands=['echo {number}'])\n" for number in range(COMMANDS)
)
TASKS = "".join(
    f"    - ansible.builtin.command: echo {number}\n      changed_when: false\n" for number in range(COMMANDS)
)
ANSIBLE = f"- hosts: all\n  gather_facts: false\n  tasks:\n{TASKS}"


def ways(server: Sshd, folder: Path, rivals: str | None) -> dict[str, list[str]]:
    """A command line a tool."""
    reach = [server.alias, server.ssh_config, str(COMMANDS)]
    found = {"deploy": [sys.executable, "-c", OURS, *reach], "fabric": [sys.executable, "-c", FABRIC, *reach]}
    tools = Path(rivals).parent if rivals else Path("/nonexistent")
    if (tools / "pyinfra").exists():
        (folder / "operations.py").write_text(PYINFRA)
        (folder / "hosts.py").write_text(
            f"hosts = [('{server.alias}', {{'ssh_config_file': '{server.ssh_config}'}})]\n"
        )
        found["pyinfra"] = [str(tools / "pyinfra"), "-y", "hosts.py", "operations.py"]
    if (tools / "ansible-playbook").exists():
        (folder / "commands.yaml").write_text(ANSIBLE)
        found["ansible-core"] = [
            str(tools / "ansible-playbook"), "-i", f"{server.alias},", "commands.yaml",
            "--ssh-common-args", f"-F {server.ssh_config}", "-e", f"ansible_python_interpreter={rivals}",
        ]  # fmt: skip
    return found


def seconds(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> tuple[float, str]:
    """Of the whole process, and what it printed."""
    began = time.monotonic()
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{command[0]} left with {done.returncode}: {(done.stdout + done.stderr)[-2000:]}")
    return time.monotonic() - began, done.stdout


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rivals", help="python of an environment with pyinfra and ansible-core")
    given = parser.parse_args()
    server = launch_sshd(Settings())
    try:
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            environment = {
                **os.environ,
                "HOME": temporary,
                "PYTHONPATH": str(ROOT),
                "ANSIBLE_PIPELINING": "1",
            }
            commands = ways(server, folder, given.rivals)
            taken: dict[str, list[float]] = {tool: [] for tool in commands}
            connected: dict[str, list[float]] = {"deploy": [], "fabric": []}
            for number in range(given.rounds + 1):
                for tool, command in commands.items():
                    once, printed = seconds(command, folder, environment)
                    if number:  # the first round reads from disk
                        taken[tool].append(once)
                        if tool in connected:
                            connected[tool].append(float(printed))
    finally:
        end_sshd(server)
    load()
    for tool in ("deploy", "fabric", "pyinfra", "ansible-core"):
        figure = shown(taken[tool]) if tool in taken else "skipped, it is not installed"
        bar = f"{BAR:g} s, and first" if tool == "deploy" else "behind deploy"
        line(f"{COMMANDS} commands, {tool}", figure, bar)
    for tool, times in connected.items():
        line(f"of it connecting and the commands, {tool}", shown(times), "none")


if __name__ == "__main__":
    main()
