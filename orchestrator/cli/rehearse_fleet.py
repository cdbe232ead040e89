"""`deploy rehearse PLAYBOOK --fleet N`: which commands are typed in it, and what happens between them?"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from orchestrator.base.errors import DeployError
from orchestrator.cli.fleet_run import FleetRun
from orchestrator.cli.main import tell
from orchestrator.cli.on_fleet import OpenFleet, on_fleet
from orchestrator.rehearsal.clients import LoadClients
from orchestrator.report.fleet import status_lines
from orchestrator.report.layout import WIDTH, plain

if TYPE_CHECKING:
    from orchestrator.base.limits import Limits
    from orchestrator.cli.options import SharedOptions
    from orchestrator.rehearsal.fleet_boxes import FleetBoxes

BEFALLEN = 2
"""The replica that is killed: the first of those on the last host."""
BAD_CHANGE = "STAND_IN_FAULT=unknown"
DRAIN_SECONDS = 60.0
ANSWERS = 4
"""So many are waited for before something happens, and after it."""


class FleetRehearsal:
    """The commands of a person at a fleet in boxes; `say` tells a text, with data for programs."""

    def __init__(
        self, boxes: FleetBoxes, options: SharedOptions, limits: Limits, say: Callable[..., None]
    ) -> None:
        self._boxes = boxes
        self._options = options
        self._limits = limits
        self._say = say

    def play(self) -> int:
        """The exit code of the last command that changed something."""
        code = self._up("--no-predict")
        story = _STORIES.get(self._boxes.fault or "")
        if story is not None and code == 0:
            code = story(self)
        self._status()
        return code

    def killed(self) -> int:
        name = self._boxes.name(BEFALLEN)
        with self._clients() as clients:
            count = self._boxes.kill(BEFALLEN)
            self._happens(f"kill -9: all {count} processes of {name}, while clients ask")
            clients.until(ANSWERS)
            self._status()
            return self._type(
                "remediate", lambda opened: FleetRun(opened).remediate(fail_fast=False), self._options
            )

    def changed_badly(self) -> int:
        with self._clients():
            return self._type(
                f"restart --env {BAD_CHANGE}",
                lambda opened: FleetRun(opened).restart(None, DRAIN_SECONDS, haproxy=None),
                replace(self._options, env=(*self._options.env, BAD_CHANGE)),
            )

    def host_gone(self) -> int:
        last = self._boxes.last
        with self._clients() as clients:
            last.vanish()
            self._happens(f"{last.alias} loses power, while clients ask")
            clients.until(ANSWERS)
            self._status()
            last.server.reopen()
            self._happens(f"{last.alias} is back")
            return self._up()

    def _up(self, *options: str) -> int:
        words = shlex.join([f"--replicas={self._boxes.replicas}", *options])

        def work(opened: OpenFleet) -> int:
            return FleetRun(opened).up(opened.replicas(self._boxes.replicas), router=True, fail_fast=False)

        return self._type(f"up {words}", work, self._options)

    def _type(self, words: str, work: Callable[[OpenFleet], int], options: SharedOptions) -> int:
        """A command as it is, after its line."""
        verb, _, rest = words.partition(" ")
        self._say(f"\n$ deploy fleet {verb} {options.playbook} {rest}".rstrip() + "\n")
        try:
            return on_fleet(
                options,
                work,
                limits=self._limits,
                predict=False,
                consents=("install-engine",),
            )
        except DeployError as error:
            tell(error, as_json=options.json, host=self._boxes.head.alias if options.json else "")
            return error.exit_code

    def _status(self) -> None:
        self._say(f"\n$ deploy fleet status {self._options.playbook}\n")

        def work(opened: OpenFleet) -> int:
            state = FleetRun(opened).state()
            self._say("\n".join(map(plain, status_lines(state, WIDTH))), **state)
            return 0

        on_fleet(self._options, work, report_to=sys.stderr, whichever=True)

    def _happens(self, text: str) -> None:
        self._say(f"\n-- {text} --")

    @contextmanager
    def _clients(self) -> Iterator[LoadClients]:
        """Some that ask without a pause while this is open; what they lost is told."""
        playbook = self._boxes.head.playbook
        with LoadClients(playbook.port, playbook.served_name, streams=3, plain=1, rest=0.2) as clients:
            clients.until(ANSWERS)
            yield clients
            clients.until(ANSWERS)
        asked = clients.asked
        lines = [f"\nclients  {asked.whole + len(asked.lost)} requests meanwhile, {len(asked.lost)} lost"]
        lines += [f"         {reason[:60]}" for reason in asked.lost[:3]]
        data: dict[str, Any] = {"whole": asked.whole, "lost": asked.lost}
        self._say("\n".join(lines), **data)


_STORIES: Mapping[str, Callable[[FleetRehearsal], int]] = {
    "replica-killed": FleetRehearsal.killed,
    "bad-change": FleetRehearsal.changed_badly,
    "host-gone": FleetRehearsal.host_gone,
}
"""What follows once the fleet is up; of the other faults it is coming up."""
