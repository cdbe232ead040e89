"""How is the router of a fleet started, told of replicas, and asked what it has?"""

from __future__ import annotations

import shlex
import time
import uuid
from collections.abc import Sequence
from ipaddress import ip_address

from orchestrator.base.errors import LaunchFailed, PreflightRefused
from orchestrator.engines.router import Router
from orchestrator.fleet.replica import Replica
from orchestrator.install import follow
from orchestrator.install.installation import Installation
from orchestrator.job import Job
from orchestrator.launch.server import Server
from orchestrator.loop.balancer import ASK_SECONDS, Balancer, Listed
from orchestrator.loop.consents import Consents
from orchestrator.loop.reading import Reading
from orchestrator.on_host.environments.place import INTERPRETER
from orchestrator.on_host.kinds import registry
from orchestrator.on_host.ports.endpoint import reachable
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
INTERVAL_SECONDS = 0.25
OPENLY = "listen-openly"


class Routing(Balancer):
    """The router of one fleet. It is a launch of its own, under the fleet's name with -router behind it: status, logs and stop
    of a deployment do for it too."""

    title = "the router"

    def __init__(self, job: Job, router: Router) -> None:
        self.reading = Reading(job)
        self._router = router
        self._consents = Consents()

    @property
    def job(self) -> Job:
        return self.reading.job

    def begin(self) -> None:
        observed, _ = self.reading.observe()
        if self.answers(observed):
            return
        self._permit()
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

    def answers(self, observed: Observed) -> bool:
        """Whether it takes requests, however its replicas are: what an engine calls its health is theirs here, and one that
        is started anew cuts off all that it passes on."""
        return observed.listens and self._ask(self._router.alive_path).status == 200

    @property
    def pin(self) -> str:
        return f"{self._router.name} {self._router.version}"

    def end(self) -> None:
        Server(self.job).stop(by_person=True)

    def listed(self) -> Listed:
        answer = self._ask(self._router.workers_path)
        return Listed(self._router.workers(answer.text) if answer.status == 200 else None)

    def admit(self, replica: Replica) -> None:
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

    def keep(self, replicas: Sequence[Replica]) -> None:
        urls = {replica.url for replica in replicas}
        for url in self.listed().workers or {}:
            if url not in urls:
                self._ask(self._router.withdraw(url), post=True)

    def withdraw(self, replica: Replica) -> None:
        listed = self.listed()
        if listed.workers is None or replica.url not in listed.workers:
            return
        answer = self._ask(self._router.withdraw(replica.url), post=True)
        if not self._until(replica, there=False):  # it says 200 for a URL that it does not know
            raise LaunchFailed(
                "not_withdrawn", f"{self.pin} keeps {replica.name}: {answer.text.strip()[:200]}"
            )

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
            if self.answers(observed):
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
