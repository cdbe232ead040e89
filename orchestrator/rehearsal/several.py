"""What do several hosts in boxes on this machine have in common, whatever they serve together?"""

from __future__ import annotations

import contextlib
from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, TypeVar

from orchestrator.rehearsal import faults
from orchestrator.rehearsal.box import Box
from orchestrator.rehearsal.commanded import Commanded, Pace
from orchestrator.rehearsal.faults import Mode

_Own = TypeVar("_Own", bound="SeveralBoxes")


class SeveralBoxes(Commanded):
    """Hosts in boxes with one Hub and one playbook; use it with `with`. They share this machine's network.

    `fault` names a failure of theirs of `faults.yaml`. Raises what `Box` does.
    """

    mode: ClassVar[Mode]

    def __init__(
        self, playbook: str | Path, *, hosts: int, fault: str | None, pace: Pace, folders: Sequence[Path]
    ) -> None:
        if fault is not None:
            faults.require(fault, self.mode, str(playbook))
        self.fault = fault
        self.pace = pace
        self.closing = contextlib.ExitStack()
        """What is undone when the boxes close, last first."""
        self._playbook = playbook
        self._hosts = hosts
        self._folders = folders
        self.boxes: tuple[Box, ...] = ()

    def __enter__(self: _Own) -> _Own:
        with self.closing:
            for number in range(1, self._hosts + 1):
                box = self._made(number, self.boxes[0] if self.boxes else None)
                self.boxes = (*self.boxes, self.closing.enter_context(box))
            Path(self.ssh_config).write_text("".join(Path(box.ssh_config).read_text() for box in self.boxes))
            self._arrange()
            self.closing = self.closing.pop_all()
        return self

    @abstractmethod
    def _made(self, number: int, first: Box | None) -> Box:
        """The host of this number from 1, which is `beside` the first where there is one."""

    @abstractmethod
    def _arrange(self) -> None:
        """Make what the hosts need together, and the fault; called when all are up and nothing runs yet."""

    @property
    def asked(self) -> str:
        return self.head.playbook.name

    @property
    def head(self) -> Box:
        return self.boxes[0]

    @property
    def last(self) -> Box:
        """The host that a fault befalls."""
        return self.boxes[-1]

    @property
    def aliases(self) -> tuple[str, ...]:
        return tuple(box.alias for box in self.boxes)

    @property
    def ssh_config(self) -> str:
        """That of all of them."""
        return str(self.head.folder / "ssh" / "all")

    def reach(self) -> list[str]:
        """The options that lead any `deploy` command to these hosts and their playbook."""
        hosts = [word for box in self.boxes for word in ("--host", box.alias)]
        return [*hosts, "-F", self.ssh_config, "--playbooks", str(self.head.playbook_path.parent)]
