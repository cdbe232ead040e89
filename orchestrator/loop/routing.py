"""How is the router of a fleet started, told of replicas, and asked what it has?"""

from __future__ import annotations

import shlex
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address

from orchestrator.base.errors import LaunchFailed, PreflightRefused
from orchestrator.engines.router import Router
from orchestrator.fleet.replica import Replica
from orchestrator.install import follow
from orchestrator.install.installation import Installation
from orchestrator.job import Job
from orchestrator.launch.server import SMOKE_SECONDS, Server, tokens
from orchestrator.loop.consents import Consents
from orchestrator.loop.reading import Reading
from orchestrator.on_host.environments.place import INTERPRETER
from orchestrator.on_host.kinds import registry
from orchestrator.on_host.ports.endpoint import parse_tokens, reachable
from orchestrator.plan.installing import CONSENT
from orchestrator.playbook.endpoint import place_of
from orchestrator.playbook.pinned import PinnedEngine
from orchestrator.programs.ask import ask
from orchestrator.programs.ask_server import AskServer, ServerAnswer
from orchestrator.programs.install_engine import InstalledNow, InstallStatus
from orchestrator.programs.journal import OutcomeRecord
from orchestrator.programs.launch import StartLaunch
from orchestrator.survey.observed import Observed

UP_SECONDS = 30.0
ADMIT_SECONDS = 60.0
"""How long the router may take to list a replica as healthy, which has just answered a completion: it asks it itself first."""
ASK_SECONDS = 10.0
INTERVAL_SECONDS = 0.25
OPENLY = "listen-openly"


@dataclass(frozen=True)
class Listed:
    """The replicas that the router has by URL, and whether it takes each for healthy; None where it does not answer."""

    workers: Mapping[str, bool] | None

    def admitted(self, replica: Replica) -> bool:
        return (self.workers or {}).get(replica.url, False)


class Routing:
    """The router of one fleet. It is a launch of its own, under the fleet's name with -router behind it: status, logs and stop
    of a deployment do for it too."""

    def __init__(self, job: Job, router: Router) -> None:
        self.reading = Reading(job)
        self._router = router
        self._consents = Consents()

    @property
    def job(self) -> Job:
        return self.reading.job

    def begin(self) -> None:
        """Have it up, with or without replicas; raises what keeps it from that."""
        self._permit()
        observed, _ = self.reading.observe()
        if observed.health == 200 and observed.listens:
            return
        if observed.listener is not None and not observed.listens:
            raise self._taken(observed)
        python = self._installed()
        with self.job.report.step("router", f"starting {self.pin}", limit=UP_SECONDS) as step:
            if observed.members:
                self.end()
            launch = self._start(python)
            self._until_up()
            self.job.record(OutcomeRecord.healthy(launch, None))
            step.done = f"{self.pin} at {self.job.playbook.listen}:{self.job.playbook.port}"

    @property
    def pin(self) -> str:
        return f"{self._router.name} {self._router.version}"

    def end(self) -> None:
        """Stop it; what it passes on is cut off."""
        Server(self.job).stop(by_person=True)

    def listed(self) -> Listed:
        """The replicas that it has."""
        answer = self._ask(self._router.workers_path)
        return Listed(self._router.workers(answer.text) if answer.status == 200 else None)

    def admit(self, replica: Replica) -> None:
        """Have requests sent to it; raises LaunchFailed("not_admitted") where the router does not take it for healthy."""
        if self.listed().admitted(replica):
            return
        with self.job.report.wait("admit", replica.name, limit=ADMIT_SECONDS):
            answer = self._ask(self._router.admit(replica.url), post=True, seconds=ADMIT_SECONDS)
            if not self._until(replica, there=True):
                reason = answer.text.strip()[:200]
                raise LaunchFailed(
                    "not_admitted",
                    f"{self.pin} does not take {replica.name} at {replica.url} for healthy: {reason}",
                )

    def withdraw(self, replica: Replica) -> None:
        """Have nothing sent to it any more; what it has been sent goes on. Raises LaunchFailed("not_withdrawn")."""
        listed = self.listed()
        if listed.workers is None or replica.url not in listed.workers:
            return
        answer = self._ask(self._router.withdraw(replica.url), post=True)
        if not self._until(replica, there=False):  # it says 200 for a URL that it does not know
            raise LaunchFailed(
                "not_withdrawn", f"{self.pin} keeps {replica.name}: {answer.text.strip()[:200]}"
            )

    def prove(self) -> None:
        """Have a completion out of it, as clients do; raises LaunchFailed("no_completion_routed")."""
        place = place_of(self.job.playbook)
        with self.job.report.step("smoke", "a completion through the router", limit=SMOKE_SECONDS) as step:
            answer = Server(self.job).complete(place)
            if not answer.ok:
                reason = answer.error or f"status {answer.status}"
                message = f"{self.job.host.name}: {self.pin} gives no completion: {reason}"
                raise LaunchFailed("no_completion_routed", message)
            step.done = tokens(answer)

    def _until(self, replica: Replica, *, there: bool) -> bool:
        give_up = time.monotonic() + (ADMIT_SECONDS if there else ASK_SECONDS)
        while time.monotonic() < give_up:
            listed = self.listed()
            if listed.workers is not None and (
                listed.admitted(replica) if there else replica.url not in listed.workers
            ):
                return True
            time.sleep(INTERVAL_SECONDS)
        return False

    def _permit(self) -> None:
        listen = self.job.playbook.listen
        if not ip_address(listen.replace("localhost", "127.0.0.1")).is_loopback and not self._open:
            self._consents.have(self.reading, {OPENLY: f"the router listens at {listen}"})

    @property
    def _open(self) -> bool:
        return self.job.wishes.yes or OPENLY in self.job.consents

    def _installed(self) -> str:
        """The interpreter that has it, as a path on the host."""
        pinned = PinnedEngine(self._router.package.distributions[0], self._router.version)
        status = InstallStatus(engine=pinned.name, version=pinned.version)
        standing = ask(self.job.host, status)
        if (
            not isinstance(standing.last, InstalledNow)
            and CONSENT not in self.job.consents
            and not self.job.wishes.yes
        ):
            self._consents.have(self.reading, {CONSENT: f"{pinned} into {pinned.folder}"})
        follow.install(
            self.job.host, self.job.report, Installation(pinned, self._router), instance=self.job.name
        )
        return f"{standing.room}/environment/{INTERPRETER}"

    def _start(self, python: str) -> int:
        playbook = self.job.playbook
        request = StartLaunch(
            instance=self.job.name,
            playbook=playbook.name,
            kind=registry.USUAL.name,
            launch_id=uuid.uuid4().hex,
            argv=(python, *self._router.arguments(playbook.listen, playbook.port)),
            environment={},
            unset=(),
            token_consent=False,
            gpu_at_most_mib={},
            log_name=self._router.log_name,
            footprint=self._router.footprint,
            note={"endpoint": place_of(playbook).as_json(), "version": self._router.version},
        )
        return ask(self.job.host, request).launch

    def _until_up(self) -> None:
        give_up = time.monotonic() + UP_SECONDS
        while True:
            observed, _ = self.reading.observe()
            if observed.health == 200 and observed.listens:
                return
            if not observed.alive or time.monotonic() > give_up:
                raise self._failed(observed)
            time.sleep(INTERVAL_SECONDS)

    def _failed(self, observed: Observed) -> LaunchFailed:
        last = b"".join(self.reading.logs(launch=None, lines=3, follow=False)) if observed.log else b""
        words = last.decode("utf-8", "replace").strip() or "it printed nothing"
        look = shlex.join(["less", observed.log.path]) if observed.log else None
        message = f"{self.job.host.name}: {self.pin} does not come up: {words}"
        return LaunchFailed(
            "router_failed", message, next_command=f"{look}  # on {self.job.host.name}" if look else None
        )

    def _taken(self, observed: Observed) -> PreflightRefused:
        listener, port = observed.listener, self.job.playbook.port
        assert listener is not None
        return PreflightRefused(
            "port_taken",
            f"{self.job.host.name}: port {port}, at which the router is to listen, is {listener.command or 'somebody'}'s",
            port=str(listener.free_port or port + 1000),
        )

    def _ask(self, path: str, *, post: bool = False, seconds: float = ASK_SECONDS) -> ServerAnswer:
        playbook = self.job.playbook
        request = AskServer(
            host=reachable(playbook.listen), port=playbook.port, path=path, post=post, timeout=seconds
        )
        return ask(self.job.host, request, deadline=2 * seconds + ASK_SECONDS)


def in_flight(job: Job) -> int | None:
    """How many requests a replica has, those that wait in it too; None where its metrics do not tell."""
    place = place_of(job.playbook)
    request = AskServer(host=place.host, port=place.port, path="/metrics", timeout=ASK_SECONDS)
    answer = ask(job.host, request)
    counts = [parse_tokens(answer.text, gauge) for gauge in job.playbook.kind.server.at_work]
    known = [count for count in counts if count is not None]
    return sum(known) if answer.status == 200 and known and len(known) == len(counts) else None
