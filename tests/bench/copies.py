"""How fast does a checkpoint come from another host, beside what else copies the same bytes?

    python tests/bench/copies.py --gigabytes 2 --folder /dev/shm

    python tests/bench/copies.py --gigabytes 0.4 --mbit 400    # hosts in networks of their own, with slow links; needs root

Makes shards of random bytes and copies them on this machine, over its loopback, by the programs as they are shipped: to one
receiver, to two at once from one source, which give each other what they have, and, for comparison, by cp, curl (from Python's own HTTP server)
and scp (one sshd of its own). Prints one JSON object a way: seconds, MB/s of each receiver, and the processors' seconds for each gigabyte that arrived (without those of
the sshd), which a busy machine changes less.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from orchestrator.hosts import bootstrap, ship  # noqa: E402
from orchestrator.on_host.state import state  # noqa: E402
from tests.sshd import NoSshd, Settings, launch_sshd  # noqa: E402

WORD = "for-this-one-time"
SHARDS = 16


HOSTS = ("source", "receiver-0", "receiver-1")


@contextlib.contextmanager
def links(mbit: int | None) -> Iterator[dict[str, tuple[list[str], str]]]:
    """By host, what a command begins with that runs there, and its address: in a network of its own where links are slow."""
    if mbit is None:
        yield {host: ([], "127.0.0.1") for host in HOSTS}
        return
    mark, places = f"cb{os.getpid():x}", {}

    def ip(words: str) -> None:
        subprocess.run(["ip", *words.split()], check=True)

    with contextlib.ExitStack() as until_end:
        until_end.callback(subprocess.run, ["ip", "link", "del", f"{mark}b"], check=False)
        ip(f"link add {mark}b type bridge")
        ip(f"link set {mark}b up")
        for number, host in enumerate(HOSTS, 1):
            space, address = f"{mark}-{host}", f"10.86.0.{number}"
            ip(f"netns add {space}")
            until_end.callback(subprocess.run, ["ip", "netns", "del", space], check=False)
            ip(f"link add {mark}v{number} type veth peer name eth0 netns {space}")
            ip(f"link set {mark}v{number} master {mark}b up")
            ip(f"-n {space} addr add {address}/24 dev eth0")
            ip(f"-n {space} link set eth0 up")
            slow = (
                f"netns exec {space} tc qdisc add dev eth0 root tbf rate {mbit}mbit burst 256k latency 50ms"
            )
            ip(slow)
            places[host] = (["ip", "netns", "exec", space], address)
        yield places


class Copies:
    """A source, and receivers with homes of their own."""

    def __init__(self, folder: Path, size: int, places: dict[str, tuple[list[str], str]]) -> None:
        self.folder, self.source, self.places = folder, folder / "source", places
        self.source.mkdir()
        files = {}
        for number in range(SHARDS):
            name = f"model-{number}.bin"
            digest = hashlib.sha256()
            with (self.source / name).open("wb") as out:
                for _ in range(size // SHARDS >> 20):
                    block = os.urandom(1 << 20)
                    out.write(block)
                    digest.update(block)
            written = (self.source / name).stat().st_size
            files[name] = {"size": written, "sha256": digest.hexdigest(), "blob": None}
        self.bytes = sum(entry["size"] for entry in files.values())
        self.listing = {"commit": "c" * 40, "files": files}
        self._note("source")

    def _note(self, host: str) -> None:
        room = self.folder / f"{host}-state" / "deploy" / "p" / "download"
        room.mkdir(parents=True)
        noted = {"folder": str(self.folder / host), "machine": state.machine_id(), "complete": True}
        (room / "manifest.json").write_text(json.dumps({**self.listing, **noted}))

    def _begin(self, program: str, host: str, request: dict[str, Any]) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [*self.places[host][0], *bootstrap.interpreter(sys.executable, site_packages=True)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "XDG_STATE_HOME": str(self.folder / f"{host}-state")},
        )
        assert process.stdin is not None
        process.stdin.write(ship.bundle(program, request, deadline=None))
        process.stdin.flush()
        return process

    @contextlib.contextmanager
    def _giving(self, host: str) -> Iterator[dict[str, Any]]:
        address = self.places[host][1]
        request = {"instance": "p", "folder": str(self.folder / host), "address": address, "word": WORD}
        with self._begin("give", host, request) as process:
            assert process.stdin is not None and process.stdout is not None
            port = json.loads(process.stdout.readline())["value"]["port"]
            yield {"name": host, "address": address, "port": port, "word": WORD}
            process.stdin.close()

    def received(self, count: int, *, helping: bool = True) -> None:
        """By so many receivers at once, which give each other what they have, or each get all of it from the source."""
        names = [f"receiver-{number}" for number in range(count)]
        with contextlib.ExitStack() as until_end:
            for name in names:
                (self.folder / f"{name}-state").mkdir()
            peers = {name: until_end.enter_context(self._giving(name)) for name in ["source", *names]}
            running = []
            for number, name in enumerate(names):
                others = [peers["source"]]
                if helping:
                    others += [peer for other, peer in peers.items() if other not in (name, "source")]
                request = {
                    "action": "run", "instance": "p", "repository": "org/made", "revision": "main",
                    "folder": str(self.folder / name), "listing": self.listing, "peers": others, "turn": [number, count],
                }  # fmt: skip
                running.append(self._begin("download", name, request))
            for process in running:
                out, _ = process.communicate()
                last = json.loads(out.splitlines()[-1])["value"]["last"]
                assert last.get("done") and not last["wrong"], last
                print(f"  {last['given']}", file=sys.stderr)

    def copied(self) -> None:
        subprocess.run(["cp", "-r", self.source, self.folder / "copy"], check=True)

    def curled(self) -> None:
        target = self.folder / "curled"
        target.mkdir()
        server = [sys.executable, "-m", "http.server", "0", "--bind", "127.0.0.1", "-d", str(self.source)]
        with subprocess.Popen(
            [server[0], "-u", *server[1:]], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as serving:
            assert serving.stdout is not None
            port = serving.stdout.readline().split()[5]
            names = [
                word for name in self.listing["files"] for word in ("-O", f"http://127.0.0.1:{port}/{name}")
            ]
            subprocess.run(["curl", "-sS", *names], cwd=target, check=True)
            serving.terminate()

    def over_ssh(self) -> None:
        sshd = launch_sshd(Settings())
        try:
            target = self.folder / "scp"
            words = [
                "scp",
                "-q",
                "-r",
                "-F",
                str(sshd.ssh_config),
                str(self.source),
                f"{sshd.alias}:{target}",
            ]
            subprocess.run(words, check=True)
        finally:
            sshd.stop()

    def hashed(self) -> None:
        """What the receiver does besides, by itself."""
        for name in self.listing["files"]:
            with (self.source / name).open("rb") as file:
                digest = hashlib.sha256()
                for block in iter(lambda: file.read(1 << 20), b""):
                    digest.update(block)


def measure(name: str, copies: Copies, work: Callable[[], None], receivers: int = 1) -> None:
    before = set(copies.folder.iterdir())
    began, used = time.monotonic(), _processor_seconds()
    try:
        work()
    except (NoSshd, subprocess.CalledProcessError) as cannot:
        print(json.dumps({"way": name, "cannot": str(cannot)}))
        return
    seconds = time.monotonic() - began
    each = (_processor_seconds() - used) / (receivers * copies.bytes / 1e9)
    rate = round(copies.bytes / seconds / 1e6)
    told = {"way": name, "seconds": round(seconds, 2), "MB/s": rate, "processor_s_per_GB": round(each, 2)}
    print(json.dumps(told), flush=True)
    for made in set(copies.folder.iterdir()) - before:
        shutil.rmtree(made)


def _processor_seconds() -> float:
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--gigabytes", type=float, default=2.0)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--mbit", type=int, help="how fast each host's link is")
    asked = parser.parse_args()
    with links(asked.mbit) as places, tempfile.TemporaryDirectory(dir=asked.folder) as made:
        copies = Copies(Path(made), int(asked.gigabytes * 1e9), places)
        for _ in range(asked.repeat):
            measure("one receiver", copies, lambda: copies.received(1))
            measure("two receivers", copies, lambda: copies.received(2), receivers=2)
            alone = partial(copies.received, 2, helping=False)
            measure("two receivers, each by itself", copies, alone, receivers=2)
            if asked.mbit:
                continue
            measure("cp", copies, copies.copied)
            measure("curl", copies, copies.curled)
            measure("scp", copies, copies.over_ssh)
            measure("sha256 alone", copies, copies.hashed)


if __name__ == "__main__":
    main()
