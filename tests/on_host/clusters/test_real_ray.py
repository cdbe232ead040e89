"""Two hosts in a real Ray of their own, on this machine: they join, one of them dies, and another Ray lives on."""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.on_host.clusters import ray_node
from orchestrator.on_host.processes import procs
from orchestrator.rehearsal import ports
from tests.waiting import eventually

RELEASE = "2.60.0"
KEPT = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "deploy-tests" / f"ray-{RELEASE}"
SERVER = """
import ray, time
ray.init()
@ray.remote(num_gpus=1, num_cpus=0)
class Rank:
    def say(self):
        print("rank", ray.get_runtime_context().get_node_id())
        return True
ranks = [Rank.remote() for _ in range(2)]
print("serves", ray.get([rank.say.remote() for rank in ranks]), flush=True)
time.sleep(300)
"""

pytestmark = [pytest.mark.engine, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def python() -> str:
    """An interpreter with Ray, made once on a machine."""
    KEPT.parent.mkdir(parents=True, exist_ok=True)
    with KEPT.with_name(f"{KEPT.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (KEPT / "whole").exists():
            base = getattr(sys, "_base_executable", sys.executable)
            pip = [str(KEPT / "bin" / "python"), "-m", "pip", "install", "-q", f"ray=={RELEASE}"]
            for argv in ([base, "-m", "venv", "--clear", str(KEPT)], pip):
                done = subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False)
                if done.returncode:
                    pytest.skip(f"Ray cannot be installed here: {done.stderr.strip()[-200:]}")
            (KEPT / "whole").touch()
    return str(KEPT / "bin" / "python")


def address() -> str:
    """One of this machine's own: Ray takes no loopback's."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        try:
            asking.connect(("192.0.2.1", 9))
        except OSError:
            pytest.skip("this machine has no network")
        own: str = asking.getsockname()[0]
        return own


class Nodes:
    """What was started, each in a session of its own."""

    def __init__(self, folder: Path, python: str, head: str) -> None:
        self._folder = folder
        self._python = python
        self._head = head
        self.started: list[subprocess.Popen[bytes]] = []

    def start(self, first_port: int, *server: str) -> subprocess.Popen[bytes]:
        home = self._folder / str(len(self.started)) / "1"
        home.mkdir(parents=True)
        (home / "ray_node.py").write_bytes(Path(ray_node.__file__).read_bytes())
        argv = [
            self._python,
            str(home / "ray_node.py"),
            "--head",
            self._head,
            "--own",
            self._head.partition(":")[0],
        ]
        argv += ["--ports", str(first_port), "--hosts", "2", "--gpus", "1", "--patience", "120"]
        return self.run(home / "log", [*argv, *(("--", self._python, "-c", *server) if server else ())])

    def run(self, log: Path, argv: list[str]) -> subprocess.Popen[bytes]:
        with log.open("wb") as output:
            started = subprocess.Popen(argv, stdout=output, stderr=output, start_new_session=True)
        self.started.append(started)
        return started

    def log(self, number: int) -> str:
        return (self._folder / str(number) / "1" / "log").read_text()

    def of(self, node: subprocess.Popen[bytes], name: str = "") -> list[procs.Process]:
        living = [process for process in procs.processes().values() if process.alive]
        return [each for each in living if each.session == node.pid and procs.name(each).startswith(name)]


@pytest.fixture
def room() -> Iterator[str]:
    """A folder whose path is short enough for sockets."""
    with tempfile.TemporaryDirectory(prefix="ray-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        yield folder


@pytest.fixture
def nodes(tmp_path: Path, python: str) -> Iterator[Nodes]:
    with ports.reserve() as port:
        several = Nodes(tmp_path, python, f"{address()}:{port.getsockname()[1]}")
        yield several
    for node in several.started:
        for process in several.of(node):
            procs.send(process, signal.SIGKILL)
        node.wait()


def test_they_join_and_fall_together_and_another_ray_lives_on(
    room: str, nodes: Nodes, tmp_path: Path, python: str
) -> None:
    ray = [python, "-m", "ray.scripts.scripts", "start", "--head", "--block", "--disable-usage-stats"]
    other = nodes.run(
        tmp_path / "other.log",
        [*ray, "--port", "6399", "--temp-dir", room, "--include-dashboard", "false"],
    )
    eventually(lambda: "--block" in (tmp_path / "other.log").read_text(), seconds=120)
    there = {process.pid for process in nodes.of(other)}

    head, worker = nodes.start(28100, SERVER), nodes.start(28600)
    eventually(lambda: "serves [True, True]" in nodes.log(1), seconds=180)
    eventually(lambda: "(Rank pid=" in nodes.log(2), seconds=30)
    (raylet,) = nodes.of(worker, "raylet")
    procs.send(raylet, signal.SIGKILL)
    assert worker.wait(60) == 1
    assert "exit code=-9" in nodes.log(2)
    head.terminate()
    assert head.wait(30) == 0
    assert not nodes.of(head) and not nodes.of(worker)
    assert not list(tmp_path.glob(f"*/1/{ray_node.LINK}/*"))
    assert there <= {process.pid for process in nodes.of(other)}
