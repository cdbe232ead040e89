"""How did one launch go, and if it failed, why?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from orchestrator import bundle
from orchestrator.diagnosis.engine import Context, Diagnosis, diagnose
from orchestrator.diagnosis.lines import read
from orchestrator.diagnosis.startup import Phase, StartUp
from orchestrator.engine.server import Server, tokens
from orchestrator.engine.watch import Seen, Watch
from orchestrator.plan import Plan
from orchestrator.playbook import Playbook
from orchestrator.remedy.patch import Patch
from orchestrator.report.events import Report, Step
from orchestrator.ssh.host import Host
from orchestrator.survey import endpoint_of, observe

EXIT_SECONDS = 20.0
"""How long an engine whose first completion failed may take to end by itself."""
HEALTH_INTERVAL_SECONDS = 0.5


@dataclass(frozen=True)
class Failure:
    """A launch that did not become healthy, or did not stay so."""

    launch: int
    seen: Seen
    diagnosis: Diagnosis
    bundle: str | None = None
    """Where log, plan and diagnosis were put on this machine, when no patch knows the cause."""

    @property
    def cause(self) -> str:
        if self.diagnosis.root_cause:
            return self.diagnosis.root_cause.text
        return how_it_ended(self.seen, None)

    @property
    def silent(self) -> bool:
        """Whether it ended and the log names no fault: ended from outside, or the machine went down."""
        return self.seen.state == "exited" and self.diagnosis.verdict in ("healthy", "starting")


class Attempt:
    """One launch of a playbook, followed to its first completion or its end."""

    def __init__(self, host: Host, playbook: Playbook, report: Report, patches: tuple[Patch, ...]) -> None:
        self._host = host
        self._playbook = playbook
        self._report = report
        self._patches = patches
        self._server = Server(host, playbook, report)

    def follow(self, plan: Plan, launch: int, *, ready_seconds: float) -> Failure | None:
        """Follow a launch until a completion came out (None) or until it failed; its outcome goes on record."""
        observed, _ = observe(self._host, self._playbook, launch)
        request = {
            **endpoint_of(self._playbook),
            "playbook": self._playbook.name,
            "launch": launch,
            "interval": HEALTH_INTERVAL_SECONDS,
        }
        log = str((observed.log or {}).get("path"))
        with self._report.step(f"launch {launch}") as step:
            shown = Progress(step)
            with Watch(
                self._host, log=log, request=request, on_line=shown.line, on_wait=shown.waited
            ) as watch:
                seen = watch.until_ready(ready_seconds)
                answer = self._server.complete() if seen.state == "ready" else None
                if answer and answer["ok"]:
                    self._record(launch, "healthy")
                    step.done = f"healthy; {tokens(answer)}"
                    step.data = {"completion": answer}
                    return None
                if answer:
                    seen = watch.until_exit(EXIT_SECONDS)
                step.state = "failed"
                step.done = how_it_ended(seen, answer)
                return self._failure(plan, launch, seen, watch)

    def _failure(self, plan: Plan, launch: int, seen: Seen, watch: Watch) -> Failure:
        context = Context(
            vllm_version=plan.version, compute_cap=plan.compute_cap, gpus=plan.gpus, argv=plan.command
        )
        diagnosis = diagnose(watch.log_lines(), context=context, patches=self._patches)
        failure = Failure(launch, seen, diagnosis)
        finding = diagnosis.finding.patch if diagnosis.finding else None
        hung = seen.state == "late" and finding is None
        self._record(launch, "hang" if hung else "failed", cause=failure.cause, finding=finding)
        if finding is not None:
            return failure
        documents = {"plan": plan.as_json(), "diagnosis": diagnosis.model_dump(mode="json")}
        name = f"{self._playbook.name}-{self._host.name}-launch{launch}"
        path = bundle.write(name, watch.log_lines(), documents)
        return Failure(launch, seen, diagnosis, str(path))

    def _record(self, launch: int, result: str, **more: Any) -> None:
        record = {"action": "outcome", "launch": launch, "result": result, **more}
        self._host.script("record", {"playbook": self._playbook.name, "record": record})


class Progress:
    """What a launch is doing, told when it changes and while it is waited for."""

    def __init__(self, step: Step) -> None:
        self._step = step
        self._startup = StartUp()
        self._told = ""

    def line(self, raw: bytes) -> None:
        for line in read([raw]):
            phase = self._startup.feed(line)
            text = phase_text(phase)
            if text != self._told:
                self._told = text
                self._step.progress(
                    text, phase=phase.name, done=phase.done, total=phase.total, eta=phase.eta_seconds
                )

    def waited(self, seconds: float) -> None:
        self._step.progress(f"{self._told or 'starting'}, {seconds:.0f}s", waited=round(seconds, 1))


def phase_text(phase: Phase) -> str:
    """A start-up phase in words: "loading weights 71/119, eta 160s"."""
    if not phase.total:
        return phase.name
    eta = f", eta {phase.eta_seconds}s" if phase.eta_seconds else ""
    return f"{phase.name} {phase.done}/{phase.total}{eta}"


def how_it_ended(seen: Seen, answer: dict[str, Any] | None) -> str:
    """The end of a launch in words, where its log may say nothing."""
    if answer is not None:
        return f"/health answered, the first completion failed: {answer['error']}"
    if seen.state == "late":
        return "not healthy in time"
    if seen.state == "foreign":
        return "somebody else's server answers on the port"
    if seen.exit_code is None:
        return "the engine ended, nobody knows with which exit status"
    if seen.exit_code > 128:
        return f"the engine was ended by signal {seen.exit_code - 128}"
    return f"the engine ended with exit status {seen.exit_code}"
