"""How did one launch go, and if it failed, why?"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from orchestrator import bundle
from orchestrator.diagnosis.engine import Context, Diagnosis, diagnose_log
from orchestrator.diagnosis.live import Live
from orchestrator.diagnosis.startup import Phase
from orchestrator.ended import Ended, Judged, judge, named, of_its_own, open_to_doubt
from orchestrator.engine import vigil
from orchestrator.engine.server import SMOKE_SECONDS, Server, UnderWay, tokens
from orchestrator.engine.watch import GivenUp, Seen, Watch
from orchestrator.errors import (
    BudgetSpent,
    DeployError,
    LaunchFailed,
    PreflightRefused,
    UnknownFailure,
    UsageError,
)
from orchestrator.gpu_room import Shortage
from orchestrator.journal import usual_seconds
from orchestrator.on_host.secrets import redact
from orchestrator.plan import Plan
from orchestrator.playbook import Playbook
from orchestrator.remedy.patch import Patch
from orchestrator.report.events import Report, Step
from orchestrator.report.layout import duration
from orchestrator.ssh.host import Host
from orchestrator.survey import endpoint_of

EXIT_SECONDS = 20.0
"""How long an engine whose first completion failed may take to end by itself."""
LINGER_SECONDS = 2.0
"""How long an engine may live on after a failure that dooms it: its other ranks tell theirs in that time, and
whatever does not end by then (a rank caught in a call) would be waited for until the time is over."""
HEALTH_INTERVAL_SECONDS = 0.25
WORTH_A_WORD_SECONDS = 1.0
COMPUTING = ("starting", "configuring", "profiling", "compiling", "capturing graphs")
"""Phases in which processor time is progress."""
WORTH_READING = 1 << 20
"""Bytes from disks between two heartbeats that are a sign of life."""
WORTH_COMPUTING = 0.2
"""Likewise seconds of processor time."""
SHORT = {"loading weights": "weights", "capturing graphs": "graphs", "downloading": "download"}


Past = Literal["new", "older", "healthy"]
"""What was before this run followed a launch: nothing, since the run started it itself; nobody knows what, since another
run did, and it may have served for days; or a completion came out of it."""


@dataclass(frozen=True)
class Failure:
    """A launch that did not become healthy, or did not stay so."""

    launch: int
    seen: Seen
    diagnosis: Diagnosis
    answer: dict[str, Any] | None = None
    """Of the first completion, where the engine got as far as that."""
    bundle: str | None = None
    """Where log, plan and diagnosis were put on this machine, when no patch knows the cause."""
    known: str = ""
    """What the host knows about the end beside the log, in words."""
    from_outside: bool = False
    """Whether it was killed, nobody knows by whom, and nothing else explains the end."""

    @property
    def cause(self) -> str:
        if self.diagnosis.root_cause:
            return redact(self.diagnosis.root_cause.text)
        return self.known or how_it_ended(self.seen, self.answer)

    @property
    def hung(self) -> bool:
        """Whether the first completion was still awaited when its time was over."""
        return self.answer is not None and bool(self.answer["late"]) and self.seen.state == "late"

    @property
    def silent(self) -> bool:
        """Whether it ended and the log names no fault: ended from outside, or the machine went down."""
        return (
            self.seen.state == "exited"
            and self.answer is None
            and self.diagnosis.verdict in ("healthy", "starting")
        )


@dataclass(frozen=True)
class _End:
    """How the following of a launch ended without a completion. `answer` is of the last completion that was asked for,
    `idle_seconds` how long there had been no sign of life."""

    seen: Seen
    answer: dict[str, Any] | None = None
    idle_seconds: float | None = None

    @property
    def lives(self) -> bool:
        """Whether its processes live, and nothing says that they are done for."""
        return self.seen.state in ("late", "hanging")


class Attempt:
    """One launch of a playbook, followed to its first completion or its end. `again` are the words after a verb by which
    a person asks for the same deployment."""

    def __init__(
        self, host: Host, playbook: Playbook, report: Report, patches: tuple[Patch, ...], *, again: str
    ) -> None:
        self._host = host
        self._playbook = playbook
        self._report = report
        self._patches = patches
        self._again = again
        self._server = Server(host, playbook, report)

    def follow(self, plan: Plan, under_way: UnderWay, *, ready_seconds: float, past: Past) -> Failure | None:
        """Follow a launch until a completion came out (None) or until it failed; its outcome goes on record.

        Raises BudgetSpent("server_busy" or "server_refuses") or PreflightRefused("no_key") where it serves and only we
        get no completion: nothing goes on record then, and nothing is to be repaired.
        """
        request = {
            **endpoint_of(self._playbook),
            **under_way.endpoint,
            "playbook": self._playbook.name,
            "launch": under_way.launch,
            "interval": HEALTH_INTERVAL_SECONDS,
        }
        shown = Progress(Live(context_of(plan), self._patches), past, served=under_way.served)
        with Watch(
            self._host,
            log=under_way.log,
            request=request,
            on_log=shown.log,
            on_wait=shown.waited,
            given_up=shown.given_up,
        ) as watch:
            end = None if past == "healthy" else self._first(plan, under_way, watch, shown, ready_seconds)
            if past == "healthy" or (end is not None and end.lives and past == "older" and shown.serves):
                end = self._ask_again(under_way, watch)
            if end is not None:
                return self._failure(plan, under_way.launch, end, watch, served=shown.serves)
            if past != "healthy":
                self._record(under_way.launch, "healthy")
            return None

    def _first(
        self, plan: Plan, under_way: UnderWay, watch: Watch, shown: Progress, ready_seconds: float
    ) -> _End | None:
        """Follow it until its first completion came out (None) or it failed."""
        usual = usual_seconds(plan.survey.observed.journal)
        doing = "starting" if usual is None else f"starting, {duration(usual)} the last time"
        with self._report.step(f"launch {under_way.launch}", doing, limit=ready_seconds) as step:
            shown.step = step
            seen = watch.until_ready(ready_seconds)
            if seen.state != "ready":
                step.state, step.done = "failed", how_it_ended(seen, None)
                return _End(seen, idle_seconds=shown.idle_seconds)
            step.done = shown.summary
            shown.answered = True
        with self._report.step("smoke", "one real completion", limit=SMOKE_SECONDS) as step:
            shown.step = step
            asked = self._ask(under_way, SMOKE_SECONDS)
            answer = dict(asked.answer)
            step.data = {"completion": answer}
            if answer["ok"]:
                step.done = tokens(answer)
                return None
            if answer["status"] in (401, 403):
                step.done = str(answer["error"])
                raise self._not_for_us(under_way, (asked,), "refuses")
            shown.completion_failed = True
            seen = watch.until_exit(LINGER_SECONDS if answer["late"] else EXIT_SECONDS)
            step.state, step.done = "failed", how_it_ended(seen, answer)
        if seen.state == "late" and vigil.tokens_made((asked,)):
            raise self._not_for_us(under_way, (asked,), "busy")
        return _End(seen, answer)

    def _ask_again(self, under_way: UnderWay, watch: Watch) -> _End | None:
        """Ask a server that was healthy, or may have served for days, until a completion came out (None), until it is
        known to be broken, or until its processes are gone."""
        limit = vigil.SECONDS + vigil.COMPLETION_SECONDS + vigil.PAUSE_SECONDS
        doing = f"launch {under_way.launch} was up; waiting for a completion"
        asked: tuple[vigil.Asked, ...] = ()
        with self._report.step("answer", doing, limit=limit) as step:
            while True:
                asked = (*asked, self._ask(under_way, vigil.COMPLETION_SECONDS))
                answer, said = dict(asked[-1].answer), vigil.verdict(asked)
                step.data = {"completion": answer, "asked": len(asked)}
                if said == "answers":
                    step.done = f"{tokens(answer)}, after {vigil.told(asked)}"
                    return None
                if said == "broken":
                    answer["error"] = f"{vigil.told(asked)} failed, the last: {answer['error']}"
                    answer["asked"] = len(asked)
                    step.state, step.done = "failed", how_it_ended(Seen("late"), answer)
                    return _End(Seen("late"), answer)
                if said != "unknown":
                    raise self._not_for_us(under_way, asked, said)
                step.progress(
                    f"{vigil.told(asked)}, none came out ({answer['error']}); taken for broken after "
                    f"{vigil.COMPLETIONS} over {duration(vigil.SECONDS)}, or when its processes end",
                    asked=len(asked),
                )
                seen = watch.until_exit(vigil.PAUSE_SECONDS)
                if seen.state == "exited":
                    step.state, step.done = "failed", how_it_ended(seen, None)
                    return _End(seen)

    def _ask(self, under_way: UnderWay, seconds: float) -> vigil.Asked:
        began = time.monotonic()
        answer = self._server.complete(under_way.endpoint, seconds=seconds)
        return vigil.Asked(began, time.monotonic(), answer)

    def _not_for_us(
        self, under_way: UnderWay, asked: tuple[vigil.Asked, ...], said: Literal["busy", "refuses"]
    ) -> DeployError:
        """The error where a server serves, and only we get no completion: nothing was changed."""
        what, answer = f"{self._host.name}: launch {under_way.launch}", asked[-1].answer
        if answer["status"] in (401, 403):
            return PreflightRefused(
                "no_key",
                f"{what} answers, and asks for its API key: {answer['error']}",
                next_command="{command} --env VLLM_API_KEY",
            )
        told = f"{vigil.told(asked)} of ours failed, the last: {answer['error']}. Nothing was changed"
        look = f"deploy status {self._again}"
        if said == "refuses":
            return BudgetSpent("server_refuses", f"{what} answers, and {told}", next_command=look)
        made = f"makes tokens for others ({vigil.tokens_made(asked):,} meanwhile)"
        return BudgetSpent("server_busy", f"{what} {made}, and {told}", next_command=look)

    def _failure(self, plan: Plan, launch: int, end: _End, watch: Watch, *, served: bool) -> Failure:
        """What became of it. A server that was up and was ended by somebody is not explained by a log in which its clients wrote."""
        if served and end.seen.state == "exited" and not of_its_own(end.seen.exit_code):
            diagnosis = Diagnosis(verdict="healthy")
        else:
            context = replace(
                context_of(plan),
                idle_seconds=end.idle_seconds if end.lives else None,
                ended=of_its_own(end.seen.exit_code),
                served=served,
            )
            diagnosis = diagnose_log(watch.log_lines(), context=context, patches=self._patches)
        judged = self._judged(launch, end.seen, diagnosis, watch)
        diagnosis = judged.diagnosis
        failure = Failure(
            launch, end.seen, diagnosis, end.answer, known=judged.known, from_outside=judged.from_outside
        )
        finding = diagnosis.finding.patch if diagnosis.finding else None
        hung = end.lives and (end.answer is None or failure.hung) and finding is None
        self._record(
            launch,
            "hang" if hung else "failed",
            cause=failure.cause,
            finding=finding,
            from_outside=failure.from_outside,
        )
        if finding is not None:
            return failure
        documents = {
            "facts": asdict(plan.survey.facts),
            "plan": plan.as_json(),
            "diagnosis": diagnosis.model_dump(mode="json"),
        }
        name = f"{self._playbook.name}-{self._host.name}-launch{launch}"
        try:
            path = bundle.write(name, watch.log_lines(), documents)
        except UsageError as error:  # what failed is to be told all the same
            self._report.emit("warning", error.message)
            return failure
        return replace(failure, bundle=str(path))

    def _judged(self, launch: int, seen: Seen, diagnosis: Diagnosis, watch: Watch) -> Judged:
        """The diagnosis with what the host knows, where the log does not settle it."""
        if seen.state != "exited" or not open_to_doubt(diagnosis):
            return Judged(diagnosis)
        answer = self._host.script("ended", {"playbook": self._playbook.name, "launch": launch})
        return judge(diagnosis, Ended.read(answer), named(watch.log_lines()), self._patches)

    def _record(self, launch: int, result: str, **more: Any) -> None:
        record = {"action": "outcome", "launch": launch, "result": result, **more}
        self._host.script("record", {"playbook": self._playbook.name, "record": record})


def context_of(plan: Plan) -> Context:
    """What is known about a launch by this plan, beside its log."""
    return Context(vllm_version=plan.version, compute_cap=plan.compute_cap, gpus=plan.gpus, argv=plan.command)


class Progress:
    """What a launch is doing, told when it changes and while it is waited for; a finding is told as its lines arrive."""

    def __init__(self, live: Live, past: Past = "new", *, served: bool = False) -> None:
        self.step: Step | None = None
        self.completion_failed = False
        """Whether a completion of our own failed."""
        self.answered = served
        """Whether its server is known to have come up, whatever the log says."""
        self._live = live
        self._past = past
        self._told = "starting"
        self._phase_told = ""
        self._reached: dict[str, float] = {}
        self._doomed_since: float | None = None
        self._one_at_a_time = threading.Lock()
        self._life = time.monotonic()
        self._work: Mapping[str, float] = {}
        self._hangs = False

    @property
    def idle_seconds(self) -> float:
        """How long there has been neither a line nor work that is progress."""
        return time.monotonic() - self._life

    def log(self, chunk: bytes) -> None:
        """Take bytes of the log that arrived together."""
        with self._one_at_a_time:
            self._life, self._hangs = time.monotonic(), False
            for phase in self._live.feed(chunk):
                self._phase(phase)
            if diagnosis := self._live.look():
                self._finding(diagnosis)
            if not self._live.doomed:
                self._doomed_since = None
            elif self._doomed_since is None:
                self._doomed_since = time.monotonic()

    @property
    def serves(self) -> bool:
        """Whether the server came up, so that clients write into its log as well."""
        return self.answered or self._live.served

    def given_up(self) -> GivenUp | None:
        """Whether the launch has failed for good and only lingers, or stands still for longer than its phase may.

        What the log says of a server counts only where a completion of our own failed at its start as well.
        """
        believed = self._past == "new" and self.completion_failed
        if self._past == "healthy" or (self.serves and not believed):
            return None
        since = self._doomed_since
        if since is not None and time.monotonic() - since > LINGER_SECONDS:
            return "lingering"
        return "hanging" if self._hangs else None

    def _phase(self, phase: Phase) -> None:
        self._reached.setdefault(phase.name, time.monotonic())
        text = phase_text(phase)
        if text != self._phase_told:
            self._phase_told = text
            self._tell(text, phase=phase.name, done=phase.done, total=phase.total, eta=phase.eta_seconds)

    def _finding(self, diagnosis: Diagnosis) -> None:
        found, cause = diagnosis.finding, diagnosis.root_cause
        if found is not None and cause is not None:
            self._tell(
                f"failing: {found.title}",
                finding=found.patch,
                process=cause.process,
                root_cause=redact(cause.text),
            )

    def waited(self, seconds: float, work: Mapping[str, float]) -> None:
        """Another heartbeat of the host: what its processes did since the last one may be a sign of life."""
        with self._one_at_a_time:  # the log arrives in a thread of its own
            if self._works(work):
                self._life = time.monotonic()
            self._work = work or self._work
            self._hangs = self._live.now(self.idle_seconds).verdict == "hang"
        self._tell(self._told, waited=round(seconds, 1))

    def _works(self, work: Mapping[str, float]) -> bool:
        """Reading from a disk is progress; so is computing while kernels are compiled. Ranks that wait for each other
        compute as well: they spin."""
        read, cpu = (work.get(name, 0) - self._work.get(name, 0) for name in ("read_bytes", "cpu_seconds"))
        compiles = self._live.phase.name in COMPUTING
        return bool(self._work) and (read > WORTH_READING or (compiles and cpu > WORTH_COMPUTING))

    def _tell(self, text: str, **data: Any) -> None:
        self._told = text
        if self.step is not None:
            self.step.progress(text, **data)

    @property
    def summary(self) -> str:
        """What a launch spent its time on, as far as it was followed: "weights 3m10s, graphs 41s, healthy"."""
        spent = []
        times = [*self._reached.values(), time.monotonic()]
        for name, began, ended in zip(self._reached, times, times[1:], strict=False):
            if ended - began >= WORTH_A_WORD_SECONDS:
                spent.append(f"{SHORT.get(name, name)} {duration(ended - began)}")
        return ", ".join([*spent, "healthy"])


def phase_text(phase: Phase) -> str:
    """A start-up phase in words: "loading weights 71/119"."""
    return f"{phase.name} {phase.done}/{phase.total}" if phase.total else phase.name


def how_it_ended(seen: Seen, answer: dict[str, Any] | None) -> str:
    """The end of a launch in words, where its log may say nothing."""
    if answer is not None and "asked" in answer:
        return f"it was up, and {answer['error']}"
    if answer is not None and answer["late"]:
        return f"/health answers, and {answer['error']}"
    if answer is not None:
        return f"/health answered, the first completion failed: {answer['error']}"
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


def no_remedy(failure: Failure, reason: str, *, host: str, again: str) -> DeployError:
    """The error of a failure that nothing is left to be done about; `reason` says why its patch is not applied, `again`
    are the words after a verb."""
    what, logs = f"{host}: launch {failure.launch}", f"deploy logs {again}"
    known_up = failure.answer is not None and "asked" in failure.answer
    onward = f"deploy restart {again}" if known_up else logs
    finding = failure.diagnosis.finding
    likely = "likely: " if finding is not None and finding.confidence == "likely" else ""
    if failure.seen.state == "foreign":
        owner = failure.seen.owner or {}
        who = f"pid {owner.get('pid')} ({owner.get('command')}, user {owner.get('user')})"
        error = f"{what}: {who} answers on its port, and it is not ours"
        return LaunchFailed("foreign_server", error, next_command=logs)
    if finding is not None and failure.diagnosis.verdict == "hang":
        hangs = f"{what} hangs: {likely}{finding.title}. {reason}"
        return BudgetSpent("no_remedy_left", hangs, next_command=logs)
    if finding is not None:
        return LaunchFailed(
            "no_remedy_left", f"{what} failed: {likely}{finding.title}. {reason}", next_command=logs
        )
    if failure.seen.state in ("late", "hanging") and failure.answer is None:
        last = f"the last it said: {failure.cause}"
        how = "was not healthy in time" if failure.seen.state == "late" else "hangs"
        return BudgetSpent("not_ready", f"{what} {how}; {last}", next_command=logs)
    bundle = f". Log, facts, plan and diagnosis are in {failure.bundle}" if failure.bundle else ""
    if failure.hung:
        hangs = f"{what} hangs: {failure.cause}. It goes on{bundle}"
        return BudgetSpent("no_completion", hangs, next_command=onward)
    return UnknownFailure(
        "unknown_cause",
        f"{what} failed and no patch knows the cause: {failure.cause}{bundle}",
        next_command=onward,
    )


def gpu_busy(host: str, launch: int, short: Shortage) -> DeployError:
    """The error of a launch for which others leave too little of a card, though it was waited for."""
    return LaunchFailed(
        "gpu_busy",
        f"{host}: launch {launch} failed: {short.sentence}. {short.advice}",
        next_command=short.next_command or f"nvidia-smi  # on {host}",
    )
