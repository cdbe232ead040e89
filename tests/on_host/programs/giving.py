"""Another host that gives a checkpoint, for tests: the program as it is shipped, with a home of its own."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.hosts import bootstrap, ship
from orchestrator.on_host.checkpoint.shards import git_blob
from orchestrator.rehearsal.hub import LARGE
from tests.on_host.programs.download_site import Site

WORD = "a-word-of-this-time"


@dataclass(frozen=True)
class Source:
    """A checkpoint that was fetched once, and what its host knows of it."""

    folder: Path
    state: Path

    @property
    def _manifest(self) -> Path:
        return self.state / "deploy" / "p" / "download" / "manifest.json"

    @property
    def listing(self) -> dict[str, Any]:
        manifest = json.loads(self._manifest.read_text())
        return {"commit": manifest["commit"], "files": manifest["files"]}

    def note(self, **changes: Any) -> None:
        """Change what the manifest says."""
        self._manifest.write_text(json.dumps({**json.loads(self._manifest.read_text()), **changes}))

    @contextlib.contextmanager
    def giving(self, name: str = "alpha") -> Iterator[dict[str, Any]]:
        """The peer as a receiver is told of it, as long as the controller's end of its input is open."""
        request = {"instance": "p", "folder": str(self.folder), "address": "127.0.0.1", "word": WORD}
        process = subprocess.Popen(
            bootstrap.interpreter(sys.executable),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "XDG_STATE_HOME": str(self.state)},
        )
        assert process.stdin is not None and process.stdout is not None
        with process:
            process.stdin.write(ship.bundle("give", request, deadline=None))
            process.stdin.flush()
            port = json.loads(process.stdout.readline())["value"]["port"]
            yield {"name": name, "address": "127.0.0.1", "port": port, "word": WORD}
            process.stdin.close()
            assert process.wait(10) == 0


def made_source(site: Site, tmp_path: Path) -> Source:
    """A host that has what the site's Hub has, as if it had fetched it from there."""
    source = Source(tmp_path / "elsewhere" / "tiny", tmp_path / "elsewhere" / "state")
    shutil.copytree(site.repository, source.folder)
    room = source.state / "deploy" / "p" / "download"
    room.mkdir(parents=True)
    files = {path.name: _entry(path) for path in source.folder.iterdir()}
    noted = {"commit": site.hub.commit("org/tiny"), "complete": True, "folder": str(source.folder)}
    (room / "manifest.json").write_text(json.dumps({**noted, "files": files}))
    return source


def _entry(path: Path) -> dict[str, Any]:
    large = path.name.endswith(LARGE)
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest() if large else None
    return {"size": path.stat().st_size, "sha256": sha256, "blob": None if large else git_blob(str(path))}


@contextlib.contextmanager
def breaking_off(source: Source, name: str = "beta") -> Iterator[dict[str, Any]]:
    """A peer that sends the first half of each file, whatever is asked, and is gone."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer(dialled: socket.socket) -> None:
            with dialled:
                asked = dialled.recv(1 << 16).decode().split()[1][1:]
                data = (source.folder / asked).read_bytes()
                dialled.sendall(b"HTTP/1.0 200 OK\r\nContent-Length: %d\r\n\r\n" % len(data))
                dialled.sendall(data[: len(data) // 2])

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    threading.Thread(target=answer, args=(server.accept()[0],), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        yield {"name": name, "address": "127.0.0.1", "port": server.getsockname()[1], "word": WORD}
        server.shutdown(socket.SHUT_RDWR)
