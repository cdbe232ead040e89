"""A host's home with a Hub to download from, for tests of the download program."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from orchestrator.hosts import bootstrap, ship
from orchestrator.on_host.programs import download
from tests.hub import Hub
from tests.waiting import PATIENCE_SECONDS, eventually

LAST = "model-00006-of-00006.safetensors"
SECRET = "hf_callersSecret"


class Site:
    """A host's home, a checkpoint folder in it, and the Hub it downloads from."""

    def __init__(self, tmp_path: Path, hub: Hub) -> None:
        self.hub = hub
        self.repository = hub.repositories / "org" / "tiny"
        self.folder = tmp_path / "models" / "tiny"
        self.room = tmp_path / "state" / "deploy" / "p" / "download"

    def request(self, action: str, **more: Any) -> dict[str, Any]:
        return {
            "action": action, "instance": "p", "repository": "org/tiny", "revision": "main",
            "folder": str(self.folder), "ignore": [], "endpoint": None, "token": None,
            "token_consent": False, "keep": [], **more,
        }  # fmt: skip

    def begin(self, action: str, *, site_packages: bool = True, **more: Any) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            bootstrap.interpreter(sys.executable, site_packages=site_packages),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stdin is not None
        process.stdin.write(ship.bundle("download", self.request(action, **more), deadline=60))
        process.stdin.flush()
        return process

    def call(self, action: str, **more: Any) -> dict[str, Any]:
        """The program as shipped, in a process of its own."""
        return answer(self.begin(action, **more))

    def run(self, **more: Any) -> dict[str, Any]:
        """The download itself, carried out in this process."""
        return download.main(self.request("run", **{"endpoint": self.hub.endpoint, **more}))

    def progress(self) -> list[dict[str, Any]]:
        text = (self.room / "progress.jsonl").read_text()
        return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]

    def finish(self) -> dict[str, Any]:
        """Wait for the detached download to end."""
        eventually(lambda: self.status()["state"] != "running")
        return self.status()

    def status(self) -> dict[str, Any]:
        return download.main(self.request("status"))

    def files(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in self.folder.iterdir() if path.is_file()}


def answer(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    out, err = process.communicate(timeout=PATIENCE_SECONDS)
    lines = [json.loads(line) for line in out.splitlines()]
    assert len(lines) == 1 and "value" in lines[0], (out, err)
    return lines[0]["value"]


def error_of(answered: dict[str, Any]) -> tuple[str, str]:
    assert answered["state"] == "failed", answered
    return answered["last"]["error"]["code"], answered["last"]["error"]["message"]
