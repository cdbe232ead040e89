"""How is the engine of a playbook started, asked and stopped on its host?"""

from __future__ import annotations

import shlex
import uuid
from dataclasses import dataclass
from typing import Any

from orchestrator.job import Job
from orchestrator.on_host.removing.shared_memory import LIVES
from orchestrator.plan.plan import Plan
from orchestrator.playbook.endpoint import api_key, place_of
from orchestrator.programs.ask import ask
from orchestrator.programs.launch import StartLaunch
from orchestrator.programs.place import Endpoint
from orchestrator.programs.smoke import Complete, Completion
from orchestrator.programs.stop import StopLaunch, Stopped
from orchestrator.survey.membership import Membership

GRACE_SECONDS = 10.0
KILL_SECONDS = 20.0
GPU_SECONDS = 60.0
"""How long GPU memory may take to come back once its processes are gone."""
SMOKE_SECONDS = 120.0
"""How long the first completion may take: kernels are still compiled for it, and an engine that hangs never answers."""


@dataclass(frozen=True)
class UnderWay:
    """A launch to follow: its number, its log on the host (None where it is gone), where it answers, and whether its
    server is known to have come up before this run found it: it listened there, or a completion came out of it once."""

    launch: int
    log: str | None
    endpoint: Endpoint
    served: bool = False


class Server:
    """The engine of one playbook on one host."""

    def __init__(self, job: Job) -> None:
        self._job = job

    def start(self, plan: Plan) -> UnderWay:
        """Start one launch; the engine goes on without this program. Raises PreflightRefused("no_room") where others hold too much
        of its cards by now: nothing is started then."""
        secrets = {variable.name: variable.sent for variable in plan.options.environment if variable.secret}
        place = place_of(self._job.playbook)
        request = StartLaunch(
            instance=self._job.name,
            playbook=self._job.playbook.name,
            kind=plan.launch_kind,
            launch_id=uuid.uuid4().hex,
            argv=tuple(plan.options.argv),
            files=plan.options.files,
            environment={
                variable.name: variable.sent for variable in plan.options.environment if not variable.secret
            },
            secrets=secrets,
            unset=tuple(plan.options.removed),
            token_consent=plan.token_consent,
            gpu_at_most_mib=plan.gpu_at_most_mib,
            log_name=self._job.playbook.kind.log_name,
            footprint=self._job.playbook.kind.footprint,
            note={
                "version": plan.version,
                "endpoint": place.as_json(),
                "context": plan.options.asked_context.value,
                "group": self._membership,
            },
        )
        started = ask(self._job.host, request)
        return UnderWay(started.launch, started.log, place)

    @property
    def _membership(self) -> dict[str, Any] | None:
        """By which a command that names this host alone knows of the others."""
        playbook, hosts = self._job.playbook, self._job.group
        if playbook.node is None or not hosts:
            return None
        return Membership(hosts, playbook.node.rank, playbook.serves, playbook.node.address).as_json()

    def complete(self, place: Endpoint, *, seconds: float = SMOKE_SECONDS) -> Completion:
        """One real completion from there in so many seconds."""
        smoke = self._job.playbook.smoke
        request = Complete(
            host=place.host,
            port=place.port,
            model=place.model,
            api_key=api_key(self._job.playbook),
            prompt=smoke.prompt,
            max_tokens=smoke.max_tokens,
            counter=self._job.playbook.kind.server.counter,
            timeout=seconds,
        )
        return ask(self._job.host, request, deadline=seconds * 2 + SMOKE_SECONDS)

    def stop(self, *, grace_seconds: float = GRACE_SECONDS, by_person: bool, anew: bool = False) -> None:
        """End the launch with every process and shared-memory file of its own, and wait for the GPUs' memory."""
        deadline = grace_seconds + KILL_SECONDS + GPU_SECONDS + 30.0
        with self._job.report.step("clean", "ending processes, freeing memory", limit=deadline) as step:
            request = StopLaunch(
                instance=self._job.name,
                grace_seconds=grace_seconds,
                kill_seconds=KILL_SECONDS,
                footprint=self._job.playbook.kind.footprint,
                wait_gpu_seconds=GPU_SECONDS,
                by_person=by_person,
                anew=anew,
            )
            stopped = ask(self._job.host, request, deadline=deadline)
            step.done = ended(stopped)
            step.data = stopped.as_json()


def ended(stopped: Stopped) -> str:
    """What a stop did, and what stays because it may be somebody else's."""
    freed = sum(entry.bytes for entry in stopped.shm_removed) / 2**20
    done = [
        f"{len(stopped.ended)} processes ended, "
        f"{len(stopped.shm_removed)} shared-memory files removed ({freed:.0f} MiB)"
    ]
    if left := ", ".join(f"pid {process.pid} ({process.name})" for process in stopped.left):
        done.append(f"{left} writes into the log, is not known to be of the launch, and lives on")
    doubtful: dict[str, list[str]] = {}
    for entry in stopped.shm_kept:
        if entry.doubtful:
            doubtful.setdefault(entry.reason, []).append(entry.name)
    for reason, names in doubtful.items():
        stay = "1 file stays" if len(names) == 1 else f"{len(names)} files stay"
        # nobody is led to remove what a process that lives may yet use: its names are in the JSON alone
        remove = (
            ""
            if reason.endswith(LIVES)
            else f"; if not: cd /dev/shm && rm {' '.join(map(shlex.quote, names))}"
        )
        done.append(f"{stay}, {reason}{remove}")
    return "; ".join(done)


def tokens(answer: Completion) -> str:
    """A completion in words."""
    return f"{answer.tokens} tokens, {answer.tokens_per_second or 0:.0f} tok/s"
