"""How does this host take part in a Ray cluster that is one launch's own, and when may the head start what needs it?

Run by the engine's Python, as a file in the launch's folder, for as long as the launch lasts. It touches no other Ray of the
machine: ports and folder are its own, and what is ended is what was started here (`ray stop` ends all that it finds).
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

ROOM = "/tmp"
"""Sockets lie in Ray's folder, and the path of a socket has at most 107 bytes: a state folder is too deep."""
PREFIX = "deploy-ray-"
LINK = "ray"
"""What leads from the launch's folder to Ray's."""
LOOK_SECONDS = 0.25
GRACE_SECONDS = 4.0
"""How long server and Ray may each take to end, of the ten that a launch has; a node of Ray would wait thirty for its tasks."""

_SESSION = re.compile(rb"--session[-_]dir=([^\0]+)")
_WORKER = re.compile(r"worker-.*-(?P<pid>\d+)\.(?:out|err)")
_ACTOR = re.compile(rb":actor_name:(\S+)")
_MARK = re.compile(rb":(?:job_id|actor_name|task_name):")

# Prints who has joined at each look, and ends once so many have.
_JOINED = """
import sys, time, ray
address, own, wanted = sys.argv[1:]
ray.init(address=address, _node_ip_address=own, log_to_driver=False, logging_level="error")
while True:
    joined = sorted(node["NodeManagerAddress"] for node in ray.nodes() if node["Alive"])
    print(" ".join(joined), flush=True)
    if len(joined) >= int(wanted):
        break
    time.sleep(0.25)
"""


@dataclass(frozen=True)
class RayPlace:
    """Where a host meets the others: `head` is ADDRESS:PORT of the head's, `own` its own address, `ports` the first of those
    that Ray listens on here besides. `leads`: it is the head. So many `hosts` are awaited for `patience` seconds.
    """

    head: str
    own: str
    ports: int
    leads: bool
    hosts: int
    gpus: int
    patience: float

    @property
    def address(self) -> tuple[str, int]:
        """That of the head."""
        host, _, port = self.head.rpartition(":")
        return host, int(port)

    def command(self, folder: str, *, client: bool) -> tuple[str, ...]:
        """Ray's own command line; `client`: what its client server needs is installed, so that it listens as well."""
        at = self.ports
        meets = ("--head", "--port", str(self.address[1])) if self.leads else ("--address", self.head)
        screen = ("--include-dashboard", "false") if self.leads else ()
        served = ("--ray-client-server-port", str(at + 5)) if self.leads and client else ()
        return (
            sys.executable, "-m", "ray.scripts.scripts", "start", "--block", *meets, "--node-ip-address", self.own,
            "--temp-dir", folder, "--num-gpus", str(self.gpus), "--disable-usage-stats", *screen, *served,
            "--node-manager-port", str(at), "--object-manager-port", str(at + 1), "--metrics-export-port", str(at + 2),
            "--dashboard-agent-listen-port", str(at + 3), "--runtime-env-agent-port", str(at + 4),
            "--min-worker-port", str(at + 10), "--max-worker-port", str(at + 400),
        )  # fmt: skip


def main(argv: Sequence[str]) -> int:
    """Take part until the server or Ray ends, or this is asked to end (TERM); gives the exit status."""
    place, server = read(argv)
    signal.signal(signal.SIGTERM, _asked)
    plain = {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"}
    unbuffered = {**plain, "PYTHONUNBUFFERED": "1"}  # Ray says which process ended, and ends itself at once
    led = {**plain, "RAY_ADDRESS": place.head, "RAY_DEDUP_LOGS": "0"}  # ranks that fail alike are all heard
    with contextlib.ExitStack() as ending:
        try:
            folder = ending.enter_context(_folder(Path(__file__).parent))
            if not place.leads:
                _await_head(place)
            client = importlib.util.find_spec("grpc") is not None
            logs = ending.enter_context(Logs(of_workers=not place.leads))
            node = ending.enter_context(_process(place.command(folder, client=client), unbuffered))
            logs.of(node.pid)
            if not place.leads:
                return _first_end(node)
            _await_hosts(place, node, led)
            _say(f"{place.hosts} hosts have joined Ray at {place.head}")
            return _first_end(node, ending.enter_context(_process(server, led)))
        except Apart as apart:
            _say(str(apart))
            return 1
        except SystemExit:
            return 0


def read(argv: Sequence[str]) -> tuple[RayPlace, tuple[str, ...]]:
    """The place that the options say, and the command of the server behind `--`: there is one on the head."""
    at = argv.index("--") if "--" in argv else len(argv)
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--head", required=True)
    parser.add_argument("--own", required=True)
    parser.add_argument("--ports", type=int, required=True)
    parser.add_argument("--hosts", type=int, required=True)
    parser.add_argument("--gpus", type=int, required=True)
    parser.add_argument("--patience", type=float, required=True)
    values = vars(parser.parse_args(argv[:at]))
    return RayPlace(leads=at < len(argv), **values), tuple(argv[at + 1 :])


class Apart(Exception):
    """The hosts do not come together, or no longer are; in the words of an exception, by which a log is read."""


def _await_head(place: RayPlace) -> None:
    give_up = time.monotonic() + place.patience
    while True:
        try:
            socket.create_connection(place.address, timeout=place.patience).close()
            return
        except OSError as error:
            if time.monotonic() > give_up:
                why = error.strerror or error
                raise Apart(
                    f"ConnectionError: Ray of the head at {place.head} is not reached from {place.own} "
                    f"within {place.patience:g} s: {why}"
                ) from None
        time.sleep(LOOK_SECONDS)


def _await_hosts(place: RayPlace, node: subprocess.Popen[bytes], environment: Mapping[str, str]) -> None:
    _await_head(place)
    argv = (sys.executable, "-c", _JOINED, place.head, place.own, str(place.hosts))
    give_up = time.monotonic() + place.patience
    with _process(argv, environment, output=subprocess.PIPE) as asking:
        joined: list[str] = []
        threading.Thread(target=_last_line, args=(asking, joined), daemon=True).start()
        while asking.poll() is None:
            if node.poll() is not None:
                raise Apart(f"RuntimeError: Ray has ended on the head (exit status {node.returncode})")
            if time.monotonic() > give_up:
                asking.kill()  # Ray has a stack printed for a TERM
                there = joined[-1].split() if joined else []
                raise Apart(
                    f"TimeoutError: {len(there)} of {place.hosts} hosts have joined Ray at {place.head} "
                    f"within {place.patience:g} s: {', '.join(there) or 'none'}"
                )
            time.sleep(LOOK_SECONDS)
        if asking.returncode:
            raise Apart(f"RuntimeError: Ray at {place.head} does not tell which hosts have joined")


def _last_line(asking: subprocess.Popen[bytes], joined: list[str]) -> None:
    for line in asking.stdout or ():
        joined[:] = [line.decode(errors="replace")]


def _first_end(node: subprocess.Popen[bytes], server: subprocess.Popen[bytes] | None = None) -> int:
    """The status of what ends first."""
    while True:
        if server is not None and server.poll() is not None:
            return server.returncode if server.returncode >= 0 else 128 - server.returncode
        if node.poll() is not None:
            raise Apart(f"RuntimeError: Ray has ended on this host (exit status {node.returncode})")
        time.sleep(LOOK_SECONDS)


@contextlib.contextmanager
def _process(
    argv: Sequence[str], environment: Mapping[str, str], output: int | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """A process in a group of its own, which is ended with whatever stays in the group."""
    process = subprocess.Popen(argv, env=environment, stdout=output, preexec_fn=os.setpgrp)
    try:
        yield process
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(GRACE_SECONDS)
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@contextlib.contextmanager
def _folder(launch: Path) -> Iterator[str]:
    """Ray's own folder; it goes with the launch, and with it what launches left that were killed."""
    for link in launch.parent.glob(f"*/{LINK}"):
        if link.is_symlink():
            _remove(Path(os.readlink(link)))
    folder = tempfile.mkdtemp(prefix=PREFIX, dir=ROOM)
    _lead_to(Path(folder))
    try:
        yield folder
    finally:
        _remove(Path(folder))


def _lead_to(folder: Path) -> None:
    """Link to Ray's folder from the launch's: by it a launch that was killed is swept up after."""
    link = Path(__file__).parent / LINK
    with contextlib.suppress(OSError):
        link.unlink(missing_ok=True)
        link.symlink_to(folder)


def _remove(folder: Path) -> None:
    """Remove a folder that this user made here."""
    with contextlib.suppress(OSError):
        ours = folder.lstat().st_uid == os.getuid() and not folder.is_symlink()
        if not ours or str(folder.parent) != ROOM or not folder.name.startswith(PREFIX):
            return
        for _ in range(8):  # who is just ending still writes there
            shutil.rmtree(folder, ignore_errors=True)
            if not folder.exists():
                return
            time.sleep(LOOK_SECONDS)


class Logs:
    """What Ray's processes print on this host into files, as lines of the launch's own log.

    What its workers print reaches the server on the head by itself, as long as there is one. A release of Ray that knows one
    folder for all hosts has the head's here.
    """

    def __init__(self, *, of_workers: bool) -> None:
        self._kinds = ("*.err", "worker-*.out") if of_workers else ("[!w]*.err",)
        self._node = 0
        self._session: Path | None = None
        self._read: dict[Path, int] = {}
        self._speakers: dict[Path, str] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def __enter__(self) -> Logs:
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._node:
            self._thread.join()
        if self._session is not None:
            _remove(self._session.parent)

    def of(self, node: int) -> None:
        """Follow those of the processes that this one started, which leads their group."""
        self._node = node
        self._thread.start()

    def _follow(self) -> None:
        while not self._ended.wait(LOOK_SECONDS):
            self._look()
        self._look()

    def _look(self) -> None:
        if self._session is None and (session := _session(self._node)):
            self._session = session
            _lead_to(session.parent)
        if self._session is not None:
            for kind in self._kinds:
                for path in sorted((self._session / "logs").glob(kind)):
                    with contextlib.suppress(OSError):
                        self._tell(path)

    def _tell(self, path: Path) -> None:
        with path.open("rb") as file:
            file.seek(self._read.get(path, 0))
            whole, end, _ = file.read().rpartition(b"\n")
        self._read[path] = self._read.get(path, 0) + len(whole + end)
        for line in whole.split(b"\n") if end else ():
            if actor := _ACTOR.fullmatch(line):
                self._speakers[path] = actor[1].decode(errors="replace")
            elif line and not _MARK.match(line):
                _say(f"({self._speaker(path)}) {line.decode(errors='replace')}")

    def _speaker(self, path: Path) -> str:
        """As Ray itself names who prints: a worker by its actor and its process."""
        worker = _WORKER.fullmatch(path.name)
        name = self._speakers.get(path, path.stem.partition("-")[0])
        return f"{name} pid={worker['pid']}" if worker else name


def _session(node: int) -> Path | None:
    """The folder of this session of Ray, as its own processes are told it."""
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if os.getpgid(int(process.name)) == node:
                session = _SESSION.search((process / "cmdline").read_bytes())
                if session:
                    return Path(os.fsdecode(session[1]))
    return None


def _say(text: str) -> None:
    print(text, flush=True)


def _asked(_number: int, _frame: FrameType | None) -> None:
    raise SystemExit


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
