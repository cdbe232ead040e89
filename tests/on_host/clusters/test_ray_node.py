"""A host's part in a Ray that is one launch's own; Ray is a stand-in (rehearsal/stand_in/cluster.py)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from orchestrator.on_host.clusters import ray_node
from orchestrator.on_host.clusters.ray_node import Logs, RayPlace, read
from orchestrator.on_host.processes import procs
from orchestrator.rehearsal import ports
from orchestrator.rehearsal.stand_in import cluster
from tests.waiting import eventually

HEAD = RayPlace("10.0.0.1:29501", "10.0.0.1", 29502, True, 2, 8, 60.0)
OPTIONS = (
    "--head",
    "10.0.0.1:29501",
    "--own",
    "10.0.0.1",
    "--ports",
    "29502",
    "--hosts",
    "2",
    "--gpus",
    "8",
    "--patience",
    "60",
)


def test_the_head_is_who_has_a_server() -> None:
    assert read([*OPTIONS, "--", "python", "-m", "x", "--port", "1"]) == (
        HEAD,
        ("python", "-m", "x", "--port", "1"),
    )
    place, server = read(OPTIONS)
    assert (place.leads, server) == (False, ())


def test_every_port_is_its_own() -> None:
    head = HEAD.command("/tmp/r", client=True)
    assert head[1:7] == ("-m", "ray.scripts.scripts", "start", "--block", "--head", "--port")
    given = dict(pairwise(head))
    named = {name: int(value) for name, value in given.items() if name.endswith("port")}
    assert len({*named.values()}) == len(named) == 9
    assert min(named.values()) == 29501 and max(named.values()) == named["--max-worker-port"]
    assert given["--temp-dir"] == "/tmp/r" and given["--include-dashboard"] == "false"
    worker = RayPlace("10.0.0.1:29501", "10.0.0.2", 29502, False, 2, 8, 60.0).command("/tmp/r", client=True)
    assert "--head" not in worker and "--ray-client-server-port" not in worker
    assert worker[worker.index("--address") + 1] == "10.0.0.1:29501"
    assert "--ray-client-server-port" not in HEAD.command("/tmp/r", client=False)


class Hosts:
    """Hosts of one launch, all on this machine."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder = folder
        self.port = port
        self.started: list[subprocess.Popen[bytes]] = []
        package = folder / "packages" / "ray" / "scripts"
        package.mkdir(parents=True)
        text = Path(cluster.__file__).read_text()
        (package.parent / "__init__.py").write_text(text)
        (package / "scripts.py").write_text(f"{text}\nstart()\n")

    def start(
        self, *server: str, patience: float = 20.0, after: int | None = None
    ) -> subprocess.Popen[bytes]:
        """One more host, the head if it has a server; or the next launch on one that is there."""
        host = len(self.started) if after is None else after
        home = self.folder / str(host) / str(len(self.started))
        home.mkdir(parents=True)
        program = home / "ray_node.py"
        program.write_bytes(Path(ray_node.__file__).read_bytes())
        argv = [
            sys.executable,
            str(program),
            "--head",
            f"127.0.0.1:{self.port}",
            "--own",
            "127.0.0.1",
            "--ports",
            "2",
        ]
        argv += [
            "--hosts",
            "2",
            "--gpus",
            "1",
            "--patience",
            str(patience),
            *(("--", *server) if server else ()),
        ]
        with (home / "log").open("wb") as log:
            variables = {
                **os.environ,
                "PYTHONPATH": str(self.folder / "packages"),
                "RAY_ADDRESS": "elsewhere:1",
            }
            node = subprocess.Popen(argv, stdout=log, stderr=log, env=variables, start_new_session=True)
        self.started.append(node)
        return node

    def log(self, number: int) -> str:
        return (self.folder / str(number) / str(number) / "log").read_text()

    def of(self, *nodes: subprocess.Popen[bytes]) -> list[int]:
        """The processes in the sessions of these."""
        sessions = {node.pid for node in nodes}
        return [
            pid for pid, process in procs.processes().items() if process.alive and process.session in sessions
        ]

    def rooms(self) -> list[Path]:
        """Ray's own folders that are there."""
        return [link for link in self.folder.glob(f"*/*/{ray_node.LINK}") if link.exists()]


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[Hosts]:
    with ports.reserve() as port:
        several = Hosts(tmp_path, port.getsockname()[1])
        yield several
    for node in several.started:
        for pid in several.of(node):
            os.kill(pid, signal.SIGKILL)
        node.wait()


SERVER = (
    sys.executable,
    "-u",
    "-c",
    "import os, time; print('serves', os.environ['RAY_ADDRESS']); time.sleep(60)",
)


def test_the_server_starts_once_all_have_joined_and_all_of_it_ends_when_it_is_asked_to(hosts: Hosts) -> None:
    head = hosts.start(*SERVER)
    eventually(lambda: "runtime started" in hosts.log(0))
    assert "serves" not in hosts.log(0)
    worker = hosts.start()
    eventually(lambda: f"serves 127.0.0.1:{hosts.port}" in hosts.log(0))
    assert len(hosts.rooms()) == 2
    for node in (head, worker):
        node.terminate()
    assert [node.wait(10) for node in (head, worker)] == [0, 0]
    assert not hosts.of(head, worker) and not hosts.rooms()


def test_when_one_host_goes_its_launch_ends_and_what_was_killed_is_swept_by_the_next(hosts: Hosts) -> None:
    head, worker = hosts.start(*SERVER), hosts.start()
    eventually(lambda: "serves" in hosts.log(0))
    for pid in hosts.of(head):
        os.kill(pid, signal.SIGKILL)
    assert worker.wait(10) == 1
    assert hosts.log(1).endswith("RuntimeError: Ray has ended on this host (exit status 1)\n")
    assert len(hosts.rooms()) == 1
    assert hosts.start(patience=0.1, after=0).wait(20) == 1
    assert not hosts.rooms()


def test_who_does_not_come_is_told(hosts: Hosts) -> None:
    head = hosts.start(*SERVER, patience=2)
    assert head.wait(20) == 1
    missing = f"TimeoutError: 1 of 2 hosts have joined Ray at 127.0.0.1:{hosts.port} within 2 s: 127.0.0.1\n"
    assert hosts.log(0).endswith(missing)
    worker = hosts.start(patience=0.2)
    assert worker.wait(20) == 1
    unreached = f"ConnectionError: Ray of the head at 127.0.0.1:{hosts.port} is not reached from 127.0.0.1 within 0.2 s"
    assert hosts.log(1).endswith(f"{unreached}: Connection refused\n")


def test_what_ranks_print_into_files_stands_in_the_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_node, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(ray_node, "__file__", str(tmp_path / "ray_node.py"))
    logs = tmp_path / "logs"
    logs.mkdir()
    idle = [sys.executable, "-c", "input()", f"--session_dir={tmp_path}"]
    with subprocess.Popen(idle, stdin=subprocess.PIPE, start_new_session=True) as node, node.stdin as hold:  # type: ignore[union-attr]
        with Logs(of_workers=True) as followed:
            followed.of(node.pid)
            path = logs / "worker-91a4-01000000-812.err"
            path.write_text(":job_id:01000000\n:actor_name:Rank\nERROR first\nhalf")
            told = eventually(lambda: capsys.readouterr().out)
            with path.open("a") as file:
                file.write(" and whole\n")
            (logs / "gcs.err").write_text("fails\n")
            (logs / "gcs.out").write_text("chatters\n")
        told += capsys.readouterr().out
        hold.write(b"\n")
    assert told == "(Rank pid=812) ERROR first\n(gcs) fails\n(Rank pid=812) half and whole\n"
