"""How is any `deploy` command aimed at hosts in boxes, and how long may it take?"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from abc import ABC, abstractmethod
from types import TracebackType
from typing import Literal

from orchestrator.rehearsal import faults

Pace = Literal["default", "fast"]


class Commanded(ABC):
    """One host in a box or several, which commands of `deploy` reach until they close."""

    fault: str | None
    pace: Pace
    closing: contextlib.ExitStack
    """What is undone when the boxes close, last first."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.closing.close()

    @property
    @abstractmethod
    def asked(self) -> str:
        """The playbook, as commands are told which one."""

    @abstractmethod
    def reach(self) -> list[str]:
        """The options that lead any `deploy` command to these hosts and their playbook."""

    @property
    def ready_seconds(self) -> float | None:
        """How long a launch may take where the fault says so."""
        limits = faults.load()[self.fault].ready_seconds if self.fault else None
        return limits[self.pace == "fast"] if limits else None

    def command(self, verb: str, *options: str) -> list[str]:
        """The command line `deploy VERB PLAYBOOK --host rehearsal ... OPTIONS`."""
        program = [sys.executable, "-m", "orchestrator.cli.main"]
        return [*program, *verb.split(), self.asked, *self.reach(), *options]

    def deploy(self, verb: str, *options: str, timeout: float = 120.0) -> subprocess.CompletedProcess[str]:
        """Run a `deploy` command to its end, as a process of its own without this one's HF_* and proxies."""
        return subprocess.run(
            self.command(verb, *options),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            env=without_hub_variables(dict(os.environ)),
            check=False,
        )


def without_hub_variables(variables: dict[str, str]) -> dict[str, str]:
    """An environment without what would lead a download elsewhere, or a token to it."""
    return {name: value for name, value in variables.items() if not leads_elsewhere(name)}


def leads_elsewhere(name: str) -> bool:
    """Whether a variable is one of the Hub's or names a proxy."""
    return name.startswith(("HF_", "HUGGING_FACE_", "HUGGINGFACE_")) or name.lower().endswith("_proxy")
