"""What is started on the host?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from orchestrator.base.errors import PreflightRefused
from orchestrator.job import Job
from orchestrator.launch.server import Server, UnderWay
from orchestrator.on_host.kinds import registry
from orchestrator.plan.beside import shares
from orchestrator.plan.plan import Plan
from orchestrator.plan.preflight import gpu_busy
from orchestrator.steps.patch import DEADLINE_SECONDS
from orchestrator.steps.step import Effects, Onward, Stage, Step, Work


@dataclass(frozen=True)
class LaunchStep(Step):
    """Start the engine; it goes on without this program. Whose code it runs by consent goes on record first.

    Raises PreflightRefused("gpu_busy") where others took memory of its cards since they were looked at, and keep it: an engine
    that loads for minutes would only refuse. With the consent to share cards it is planned anew beside them.
    """

    name = "launch"
    together = Stage.LAUNCH
    plan: Plan

    @property
    def effects(self) -> Effects:
        how = registry.KINDS[self.plan.launch_kind].description
        state = f"~/.local/state/deploy/{self.plan.playbook.instance}"
        return Effects(
            (f"start the engine {how}, log and identity in {state}", *self._in_ray()),
            files=(state,),
            starts=(" ".join(self.plan.options.argv[:3]),),
        )

    def _in_ray(self) -> Iterator[str]:
        installed, node = self.plan.survey.engine, self.plan.options.node
        if self.plan.options.through_ray and node is not None:
            release = f"Ray {installed.ray}" if installed and installed.ray else "Ray"
            if node.rank:
                yield f"in it {release} joins that of {node.head}:{node.port}"
            else:
                yield f"in it {release} listens on port {node.port}; the server starts once {node.of} hosts have joined"

    def do(self, work: Work) -> Onward | None:
        job, plan = work.job, self.plan
        work.require()
        if plan.trusted is not None:
            job.record(plan.trusted)
        try:
            started = self._start(job)
        except PreflightRefused as refused:
            if refused.code != "no_room":
                raise
            if self._crowded(job):
                return "crowded"
            started = self._start(job)
        work.follow(plan, started, past="new")
        return None

    def _start(self, job: Job) -> UnderWay:
        with job.report.wait("start", "the engine's process", limit=DEADLINE_SECONDS):
            return Server(job).start(self.plan)

    def _crowded(self, job: Job) -> bool:
        """Whether there is no room but beside others; what only just ended gives its memory back within seconds."""
        from orchestrator.remedy import carry_out

        short = carry_out.clean(job, self.plan, ("gpu_memory_wait",))
        if short is None:
            return False
        if not shares(short, job.consents):
            raise gpu_busy(job.host.name, short)
        job.report.emit("warning", short.shared)
        return True
