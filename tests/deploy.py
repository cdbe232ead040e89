"""The `deploy` command as a person types it, against a test sshd: what it printed and with which code it left."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import sys
import unittest.mock
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# The command imports these in threads. pytest rewrites each module at its first import, and Python 3.11 cannot parse in two
# threads at once ("AST constructor recursion depth mismatch").
import orchestrator.download.fetch
import orchestrator.download.verdict
import orchestrator.launch.attempt
import orchestrator.loop.deployment
import orchestrator.remedy.apply
import orchestrator.remedy.carry_out  # noqa: F401
from orchestrator.cli.main import run
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
        return [record for record in self.events if record["event"] == event]


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

    def __call__(self, *words: str) -> Left:
        """Run it in this process, which spares half a second of imports a command; `argv` is for real processes."""
        arguments = self.argv(*words)[3:]
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
        with (
            unittest.mock.patch.dict(os.environ, self.whole_environment, clear=True),
            unittest.mock.patch.object(sys, "argv", ["deploy", *arguments]),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            code = run(arguments)
        return Left(code, *(stream.buffer.getvalue().decode(errors="replace") for stream in (out, err)))  # type: ignore[attr-defined]

    @property
    def whole_environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "COVERAGE_FILE") if name in os.environ}
        root = str(Path(__file__).parents[1])
        return {**kept, "HOME": str(self.home), "PYTHONPATH": root, **self.environment}


def held_in_shm(members: Iterable[Mapping[str, Any]]) -> set[str]:
    """Names in /dev/shm that these processes have mapped."""
    maps = "".join(Path(f"/proc/{member['pid']}/maps").read_text() for member in members)
    return set(re.findall(r"/dev/shm/(\S+)", maps))
