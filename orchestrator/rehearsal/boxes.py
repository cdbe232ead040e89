"""What are several hosts in boxes on this machine that serve one model together?"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from orchestrator.base.errors import UsageError
from orchestrator.rehearsal import faults, node_faults, ports
from orchestrator.rehearsal.box import Box, Pace, without_hub_variables
from orchestrator.rehearsal.ssh_server import ALIAS


class Boxes:
    """Hosts in boxes, the first of them the head, with one Hub and one playbook; use it with `with`.

    They share this machine's network, so that the ranks meet on it. `fault` names a failure of nodes of `faults.yaml`. Raises
    what `Box` does.
    """

    def __init__(
        self,
        playbook: str | Path = "kimi-k2.5",
        *,
        nodes: int = 2,
        fault: str | None = None,
        pace: Pace = "default",
        folders: Sequence[Path] = (),
    ) -> None:
        if fault is not None and fault not in (known := faults.of_nodes()):
            raise UsageError(
                "unknown_fault", f"there is no fault {fault!r} of several hosts; known: {', '.join(known)}"
            )
        self.fault = fault
        self.closing = contextlib.ExitStack()
        """What is undone when the boxes close, last first."""
        self._playbook = playbook
        self._nodes = nodes
        self._pace = pace
        self._folders = folders
        self.boxes: tuple[Box, ...] = ()

    def __enter__(self) -> Boxes:
        with self.closing:
            meeting_port = self.closing.enter_context(ports.reserve()).getsockname()[1]
            for number in range(1, self._nodes + 1):
                box = Box(
                    self._playbook,
                    pace=self._pace,
                    folders=self._folders,
                    alias=f"{ALIAS}-{number}",
                    meeting_port=meeting_port,
                    beside=self.boxes[0] if self.boxes else None,
                )
                self.boxes = (*self.boxes, self.closing.enter_context(box))
            Path(self.ssh_config).write_text("".join(Path(box.ssh_config).read_text() for box in self.boxes))
            if self.fault is not None:
                node_faults.arrange(self.boxes[-1], self.fault)
            self.closing = self.closing.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.closing.close()

    @property
    def head(self) -> Box:
        return self.boxes[0]

    @property
    def aliases(self) -> tuple[str, ...]:
        return tuple(box.alias for box in self.boxes)

    @property
    def ssh_config(self) -> str:
        """That of all of them."""
        return str(self.head.folder / "ssh" / "all")

    @property
    def ready_seconds(self) -> float | None:
        """How long a launch may take where the fault says so."""
        limits = faults.load()[self.fault].ready_seconds if self.fault else None
        return limits[self._pace == "fast"] if limits else None

    def reach(self) -> list[str]:
        """The options that lead any `deploy` command to these hosts and their playbook."""
        hosts = [word for box in self.boxes for word in ("--host", box.alias)]
        playbooks = str(self.head.playbook_path.parent)
        return [*hosts, "--as-one", "-F", self.ssh_config, "--playbooks", playbooks]

    def command(self, verb: str, *options: str) -> list[str]:
        """The command line `deploy VERB PLAYBOOK --host rehearsal-1 --host rehearsal-2 --as-one ... OPTIONS`."""
        program = [sys.executable, "-m", "orchestrator.cli.main"]
        return [*program, verb, self.head.playbook.name, *self.reach(), *options]

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
