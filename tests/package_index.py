"""A package index on loopback (PEP 503) with small wheels that a test makes, and the uv that is pinned."""

from __future__ import annotations

import base64
import functools
import hashlib
import http.server
import os
import subprocess
import sys
import tempfile
import threading
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from orchestrator.on_host.environments import uv
from orchestrator.rehearsal import environment

CACHED = Path(tempfile.gettempdir()) / f"deploy-tests-{os.getuid()}-uv"


@functools.cache
def uv_wheel() -> Path | None:
    """The wheel of the pinned uv, by way of this machine's pip; None where it cannot be had."""
    name, _ = uv.WHEELS.get(os.uname().machine, ("", ""))
    if not name or (CACHED / name).exists():
        return CACHED / name if name else None
    CACHED.mkdir(mode=0o700, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHED) as folder:
        platform = name.removesuffix(".whl").rpartition("-")[2].rpartition(".")[2]
        wanted = ["--no-deps", "--only-binary=:all:", "--platform", platform, f"uv=={uv.VERSION}"]
        subprocess.run([sys.executable, "-m", "pip", "-q", "download", "-d", folder, *wanted], check=False)
        for path in Path(folder).glob(name):
            path.replace(CACHED / name)
    return CACHED / name if (CACHED / name).exists() else None


def wheel(
    folder: Path, name: str, version: str, files: Mapping[str, bytes], *, needs: Sequence[str] = ()
) -> Path:
    """A pure wheel with these files, which needs these packages."""
    needed = "".join(f"Requires-Dist: {need}\n" for need in needs)
    stem = f"{name.replace('-', '_')}-{version}"
    metadata = {
        f"{stem}.dist-info/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needed}".encode(),
        f"{stem}.dist-info/WHEEL": b"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    whole = {**files, **metadata}
    record = "".join(f"{path},sha256={_digest(data)},{len(data)}\n" for path, data in whole.items())
    path = folder / f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for place, data in {
            **whole,
            f"{stem}.dist-info/RECORD": f"{record}{stem}.dist-info/RECORD,,\n".encode(),
        }.items():
            archive.writestr(place, data)
    return path


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def stand_in_wheel(folder: Path, version: str) -> Path:
    """The stand-in for vLLM as a wheel; the client of the Hub is this program's own."""
    laid_out = environment.make(folder / "laid-out", version=version, cards=0).folder
    (packages,) = laid_out.glob("lib/python3*/site-packages")
    files = {
        path.relative_to(packages).as_posix(): path.read_bytes()
        for path in sorted(packages.rglob("*"))
        if path.is_file() and ".dist-info" not in str(path)
    }
    return wheel(folder, "vllm", version, files)


class PackageIndex:
    """Serves the wheels in a folder. `hold` keeps the file of that name back until its event is set; `held`: it was asked for.
    `digests` are the sha256 that it names of files, right or wrong; of others it names none."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.requests: list[str] = []
        self.hold: dict[str, threading.Event] = {}
        self.digests: dict[str, str] = {}
        self.held = threading.Event()
        index = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                index.requests.append(self.path)
                answer = index.answer(self.path)
                self.send_response(404 if answer is None else 200)
                self.send_header(
                    "Content-Type", "text/html" if self.path.endswith("/") else "application/zip"
                )
                self.send_header("Content-Length", str(len(answer or b"")))
                self.end_headers()
                if self.command == "GET":
                    self.wfile.write(answer or b"")

            do_HEAD = do_GET

            def log_message(self, *_: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.handle_error = lambda *_: None  # type: ignore[method-assign]  # who asked was killed

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/simple"

    def answer(self, path: str) -> bytes | None:
        name = path.strip("/").rpartition("/")[2]
        if path.endswith("/"):
            stem = name.replace("-", "_")
            files = sorted(file for file in os.listdir(self.folder) if file.startswith(f"{stem}-"))
            marks = {file: f"#sha256={digest}" for file, digest in self.digests.items()}
            links = "".join(f'<a href="/files/{file}{marks.get(file, "")}">{file}</a>\n' for file in files)
            return f"<!DOCTYPE html><html><body>{links}</body></html>".encode() if files else None
        if name in self.hold:
            self.held.set()
            self.hold[name].wait(60)
        file = self.folder / name
        return file.read_bytes() if file.is_file() else None

    def __enter__(self) -> PackageIndex:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        for event in self.hold.values():
            event.set()
        self._server.shutdown()
        self._server.server_close()
