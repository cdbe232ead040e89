"""The `deploy` command as a person types it, against a test sshd: what it printed and with which code it left."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.sshd import Sshd


@dataclass(frozen=True)
class Left:
    """A finished command."""

    code: int
    out: str
    err: str

    @property
    def events(self) -> list[dict[str, Any]]:
        """What `--json` printed."""
        return [json.loads(line) for line in self.out.splitlines()]

    def of(self, event: str) -> list[dict[str, Any]]:
        return [one for one in self.events if one["event"] == event]


@dataclass
class Deploy:
    """The command with the options that lead to a test's own host, playbook and home."""

    server: Sshd
    playbook: Path
    home: Path
    environment: Mapping[str, str] = field(default_factory=dict)

    def argv(self, *words: str) -> list[str]:
        """The command line: `words` with a PLAYBOOK in it, or the playbook alone."""
        named = [str(self.playbook) if word == "PLAYBOOK" else word for word in words]
        reach = ["--host", self.server.alias, "--ssh-config", self.server.ssh_config]
        return [sys.executable, "-m", "orchestrator.cli.main", *named, *reach]

    def __call__(self, *words: str, timeout: float = 90.0) -> Left:
        done = subprocess.run(
            self.argv(*words),
            env=self.whole_environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        return Left(done.returncode, done.stdout, done.stderr)

    @property
    def whole_environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "COVERAGE_FILE") if name in os.environ}
        root = str(Path(__file__).parents[1])
        return {**kept, "HOME": str(self.home), "PYTHONPATH": root, **self.environment}
