"""What are several hosts in boxes on this machine that serve one model together?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from orchestrator.rehearsal import node_faults, ports
from orchestrator.rehearsal.box import Box
from orchestrator.rehearsal.commanded import Pace
from orchestrator.rehearsal.several import SeveralBoxes
from orchestrator.rehearsal.ssh_server import ALIAS


class Boxes(SeveralBoxes):
    """Hosts in boxes, the first of them the head; its ranks meet on this machine's network."""

    mode = "nodes"

    def __init__(
        self,
        playbook: str | Path = "kimi-k2.5",
        *,
        nodes: int = 2,
        fault: str | None = None,
        pace: Pace = "default",
        folders: Sequence[Path] = (),
    ) -> None:
        super().__init__(playbook, hosts=nodes, fault=fault, pace=pace, folders=folders)

    def _made(self, number: int, first: Box | None) -> Box:
        if first is None:
            meeting_port = self.closing.enter_context(ports.reserve()).getsockname()[1]
        return Box(
            self._playbook,
            pace=self.pace,
            folders=self._folders,
            alias=f"{ALIAS}-{number}",
            meeting_port=None if first else meeting_port,
            beside=first,
        )

    def _arrange(self) -> None:
        if self.fault is not None:
            node_faults.arrange(self.last, self.fault)

    def reach(self) -> list[str]:
        return [*super().reach(), "--as-one"]
