"""What are hosts in boxes on this machine with replicas of one playbook behind a router?"""

from __future__ import annotations

import json
import signal
from collections.abc import Sequence
from pathlib import Path

from orchestrator.engines.router import Router
from orchestrator.fleet.replica import replica_name
from orchestrator.on_host.processes import procs
from orchestrator.rehearsal import router_place
from orchestrator.rehearsal.box import Box
from orchestrator.rehearsal.commanded import Pace
from orchestrator.rehearsal.several import SeveralBoxes
from orchestrator.rehearsal.ssh_server import ALIAS

HOSTS = 2


class FleetBoxes(SeveralBoxes):
    """Two hosts for so many replicas, each on two cards at most, and a router on the first.

    The router is the real one where `deploy` has installed it on this machine, else a stand-in.
    """

    mode = "fleet"

    def __init__(
        self,
        playbook: str | Path = "kimi-k2.5",
        *,
        replicas: int = 3,
        fault: str | None = None,
        pace: Pace = "default",
        folders: Sequence[Path] = (),
    ) -> None:
        super().__init__(playbook, hosts=HOSTS, fault=fault, pace=pace, folders=folders)
        self.replicas = replicas
        self.real_router = False

    def _made(self, number: int, first: Box | None) -> Box:
        return Box(
            self._playbook,
            pace=self.pace,
            folders=self._folders,
            alias=f"{ALIAS}-{number}",
            replicas=self.replicas,
            beside=first,
        )

    def _arrange(self) -> None:
        self.real_router = router_place.lay(self.router, self.head.home)
        if self.fault == "broken-card":
            self.last.server.environment["STAND_IN_FAULT"] = self.fault

    @property
    def router(self) -> Router:
        router = self.head.playbook.kind.router
        assert router is not None  # the stand-in is of an engine that has one
        return router

    def name(self, number: int) -> str:
        """That of a replica."""
        return replica_name(self.head.playbook.name, number)

    def kill(self, number: int) -> int:
        """End all processes of a replica's engine at once, as whoever types `kill -9` does; gives how many there were."""
        states = [box.state.with_name(self.name(number)) for box in self.boxes]
        return sum(kill_engine(state) for state in states if state.exists())


def kill_engine(state: Path) -> int:
    """The same by the state folder of a deployment on this machine."""
    noted = max(state.glob("launches/*/process.json"), key=lambda path: int(path.parent.name))
    last = json.loads(noted.read_text())
    engine = [
        process
        for process in procs.processes().values()
        if process.session == last["session"] and process.pid != last["pid"] and process.alive
    ]
    for process in engine:
        procs.send(process, signal.SIGKILL)
    return len(engine)
