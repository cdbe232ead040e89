"""What keeps logind from ending a launch once nobody is logged in?"""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.base.errors import PreflightRefused
from orchestrator.steps.patch import DEADLINE_SECONDS
from orchestrator.steps.step import Effects, Step, Work


@dataclass(frozen=True)
class Linger(Step):
    """Enable lingering for this user: only with the consent of that name."""

    name = "linger"

    @property
    def effects(self) -> Effects:
        return Effects(("loginctl enable-linger: this user's processes outlive the last logout",))

    def do(self, work: Work) -> None:
        host = work.job.host
        with work.job.report.step("linger", "asking logind", limit=DEADLINE_SECONDS) as step:
            done = host.run("loginctl enable-linger")
            if done.rc != 0:
                reason = done.stderr.decode(errors="replace").strip()
                raise PreflightRefused(
                    "linger_refused",
                    f"{host.name}: loginctl enable-linger: {reason}",
                    next_command=f'sudo loginctl enable-linger "$USER"  # on {host.name}',
                )
            step.done = "logind keeps this user's processes and shared memory after the last logout"
