"""How did a launch fail, in words and as an error?"""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from orchestrator.base.errors import BudgetSpent, DeployError, LaunchFailed, UnknownFailure
from orchestrator.on_host.secrets.secrets import redact

if TYPE_CHECKING:
    from orchestrator.diagnosis.verdict import Diagnosis
    from orchestrator.launch.watch import Seen
    from orchestrator.plan.gpu_room import Shortage
    from orchestrator.plan.still_held import StillHeld
    from orchestrator.programs.smoke import Completion
    from orchestrator.programs.stacks import DumpFile


@dataclass(frozen=True)
class Failure:
    """A launch that did not become healthy, or did not stay so."""

    launch: int
    seen: Seen
    diagnosis: Diagnosis
    answer: Completion | None = None
    """Of the last completion that was asked for, where the engine got as far as that."""
    asked: int = 0
    """How many were asked for of a server that was up."""
    bundle: str | None = None
    """Where log, plan and diagnosis were put on this machine, when no patch knows the cause."""
    dumps: tuple[DumpFile, ...] = field(default=(), compare=False)
    """The stacks that its processes left."""
    known: str = ""
    """What the host knows about the end beside the log, in words."""
    from_outside: bool = False
    """Whether it was killed, nobody knows by whom, and nothing else explains the end."""
    came: float | None = field(default=None, compare=False)
    """When it came, by a clock that is the same for all hosts of its group (seconds); None where nobody knows."""
    overheard: bool = False
    """Whether only another host of its group failed, and this is how it stood then."""

    @property
    def cause(self) -> str:
        if self.diagnosis.root_cause:
            return redact(self.diagnosis.root_cause.text)
        return self.known or how_it_ended(self.seen, self.answer, self.asked)

    @property
    def hung(self) -> bool:
        """Whether the first completion was still awaited when its time was over."""
        return self.answer is not None and self.answer.late and self.seen.state == "late"

    @property
    def silent(self) -> bool:
        """Whether it ended and the log names no fault: ended from outside, or the machine went down."""
        return (
            self.seen.state == "exited"
            and self.answer is None
            and self.diagnosis.verdict in ("healthy", "starting")
        )


def how_it_ended(seen: Seen, answer: Completion | None, asked: int = 0) -> str:
    """The end of a launch in words, where its log may say nothing; `asked` of a server that was up."""
    if answer is not None and asked:
        return f"it was up, and {answer.error}"
    if answer is not None and answer.late:
        return f"/health answers, and {answer.error}"
    if answer is not None:
        return f"/health answered, the first completion failed: {answer.error}"
    if seen.state == "late":
        return "not healthy in time"
    if seen.state == "hanging":
        return "the launch stands still: neither a line nor work for longer than this phase takes"
    if seen.state == "lingering":
        return "the engine failed and did not end by itself"
    if seen.state == "foreign":
        return "somebody else's server answers on the port"
    if seen.exit_code is None:
        return "the engine ended, nobody knows with which exit status"
    if seen.exit_code > 128:
        return f"the engine was ended by {signal_name(seen.exit_code - 128)}"
    return f"the engine ended with exit status {seen.exit_code}"


def signal_name(number: int) -> str:
    """SIGKILL for 9; the number where it has no name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def no_remedy(
    failure: Failure, reason: str, *, host: str, ended: bool = False, apart: Sequence[str] = ()
) -> DeployError:
    """The error of a failure that nothing is left to be done about; `reason` says why its patch is not applied, `ended` that
    the launch is ended all the same, `apart` which hosts do not reach each other, where it is that."""
    subject = f"{host}: launch {failure.launch}"
    onward = {"verb": "restart"} if failure.asked else {}
    finding = failure.diagnosis.finding
    likely = "likely: " if finding is not None and finding.confidence == "likely" else ""
    if failure.seen.state == "foreign":
        owner = failure.seen.owner
        holder = f"pid {owner.pid} ({owner.command}, user {owner.user})" if owner else "somebody"
        error = f"{subject}: {holder} answers on its port, and it is not ours"
        return LaunchFailed("foreign_server", error)
    if finding is not None and failure.diagnosis.verdict == "hang":
        hangs = f"{subject} hangs: {likely}{finding.title}. {reason}"
        return BudgetSpent("no_remedy_left", hangs)
    if finding is not None:
        return LaunchFailed("no_remedy_left", f"{subject} failed: {likely}{finding.title}. {reason}")
    if failure.seen.state in ("late", "hanging") and failure.answer is None:
        last = f"; the last it said: {failure.cause}"
        why = f": {' and '.join(apart)} do not reach each other" if apart else last
        how = "was not healthy in time" if failure.seen.state == "late" else "hangs"
        return BudgetSpent("not_ready", f"{subject} {how}{why}")
    bundle = f". Log, facts, plan and diagnosis are in {failure.bundle}" if failure.bundle else ""
    cause = failure.cause.rstrip(".")
    if failure.hung:
        goes_on = "" if ended else ". It goes on"
        hangs = f"{subject} hangs: {cause}{goes_on}{bundle}"
        return BudgetSpent("no_completion", hangs, **onward)
    return UnknownFailure(
        "unknown_cause",
        f"{subject} failed and no patch knows the cause: {cause}{bundle}",
        **onward,
    )


class GpuBusy(LaunchFailed):
    """A launch for which others leave too little of a card, though it was waited for."""

    def __init__(self, host: str, launch: int, short: Shortage | StillHeld) -> None:
        super().__init__(
            "gpu_busy",
            f"{host}: launch {launch} failed: {short.sentence}. {short.advice}",
            next_command=None if short.cure else f"nvidia-smi  # on {host}",
            **short.cure,
        )
        self.short = short
