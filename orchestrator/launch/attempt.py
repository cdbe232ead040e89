"""How did one launch go, and if it failed, why?"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import TracebackType
from typing import Literal

from orchestrator.base.amounts import duration, fewest
from orchestrator.base.errors import BudgetSpent, DeployError, HostError, PreflightRefused, UsageError
from orchestrator.base.events import StepReport
from orchestrator.diagnosis.engine import Diagnosis, diagnose_log
from orchestrator.diagnosis.live import Live
from orchestrator.diagnosis.moments import written
from orchestrator.job import Job
from orchestrator.launch import dumps, vigil
from orchestrator.launch.ended import Judged, judge, named, open_to_doubt
from orchestrator.launch.failure import Failure, how_it_ended
from orchestrator.launch.following_end import FollowingEnd
from orchestrator.launch.other_hosts import ALONE, OtherHosts
from orchestrator.launch.packed import packed
from orchestrator.launch.progress import FOR_GOOD_SECONDS, LINGER_SECONDS, Past, Progress
from orchestrator.launch.server import SMOKE_SECONDS, Server, UnderWay, tokens
from orchestrator.launch.unsaid import ended_without_a_word
from orchestrator.launch.watch import Seen, Watch
from orchestrator.plan.plan import Plan
from orchestrator.playbook.endpoint import api_key, health_path
from orchestrator.programs.ask import ask
from orchestrator.programs.ended import Ended
from orchestrator.programs.journal import OutcomeRecord
from orchestrator.programs.stacks import DumpFile
from orchestrator.programs.watch import FollowLaunch
from orchestrator.survey.journal import usual_seconds

EXIT_SECONDS = 20.0
"""How long an engine whose first completion failed may take to end by itself."""
HEALTH_INTERVAL_SECONDS = 0.25
PEER_SECONDS, QUIET_SECONDS = 6.0, 1.5
"""How long one is listened to, at most and without another line, after another host of its group has failed: seen with vLLM
0.32, ranks say within a second that a peer is gone."""

COMPUTES = "computed its part"
"""What is told of a launch for which another host answers, once that has."""
NEARLY = 0.8
"""The part of its time after which a launch counts as late that another one of its group is too: they do not begin at once."""


class Attempt:
    """One launch of a playbook, followed while this context is open; what becomes of it goes on record.

    `past` is what was before this run followed it; `peers` are the other hosts of its group: it is followed no longer where they do not go on. Whatever follows it raises BudgetSpent("server_busy" or
    "server_refuses") or PreflightRefused("no_key") where it serves and only we get no completion: nothing goes on record
    then, and nothing is to be repaired.
    """

    def __init__(
        self,
        job: Job,
        plan: Plan,
        under_way: UnderWay,
        *,
        past: Past,
        peers: OtherHosts = ALONE,
    ) -> None:
        self._job = job
        self._plan = plan
        self._under_way = under_way
        self._past = past
        self._peers = peers
        self._grammar = job.playbook.kind.log
        self._server = Server(job)
        live = Live(plan.beside_log, job.wishes.patches, self._grammar)
        self._live = live
        self._shown = Progress(
            live, past, served=under_way.served, peers=peers, spread=plan.playbook.node is not None
        )
        self._proven = False
        self._along: StepReport | None = None
        self._dumps: tuple[DumpFile, ...] = ()
        self.context: int | None = None
        """Tokens of one request, as the server told with its last completion, or fewer where its log knows better."""

    def __enter__(self) -> Attempt:
        self._began = time.monotonic()
        request = FollowLaunch(
            host=self._under_way.endpoint.host,
            port=self._under_way.endpoint.port,
            model=self._under_way.endpoint.model,
            api_key=api_key(self._job.playbook),
            instance=self._job.name,
            launch=self._under_way.launch,
            health_path=health_path(self._job.playbook),
            interval=HEALTH_INTERVAL_SECONDS,
        )
        self._watch = Watch(
            self._job.host,
            log=self._under_way.log,
            request=request,
            on_log=self._shown.log,
            on_wait=self._shown.waited,
            given_up=self._shown.given_up,
            proceed=self._peers.proceed,
        )
        self._watch.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._watch.__exit__(kind, error, trace)

    def until_ready(self) -> Failure | None:
        """Follow it until it answers (None) or failed."""
        return self._settled(self._ready())

    def prove(self) -> Failure | None:
        """Ask it for its first completion; None once one came out of it."""
        if not self._proven:
            failure = self._settled(self._completion())
            if failure is not None:
                return failure
            self._healthy()
        return None

    @contextmanager
    def alongside(self) -> Iterator[None]:
        """Tell how it goes while another host is waited for, which it computes for: it has no moment of its own at which it is ready."""
        with self._job.report.step(
            f"launch {self._under_way.launch}", "starting", limit=self._job.ready_seconds
        ) as step:
            self._shown.step = self._along = step
            yield

    def outlive(self, seconds: float) -> Failure | None:
        """Make sure for so long that one which answered lives on (None), while others are waited for."""
        seen = self._watch.until_exit(seconds)
        if seen.state == "late":
            return None
        if self._along is not None:
            self._along.state, self._along.done = "failed", how_it_ended(seen, None)
        return self._failure(self._end(seen))

    def overheard(self) -> Failure | None:
        """How it stands now that another host of its group has failed, once it has said what it has to say of that: its log may
        be the one with the cause. None where its host is not reached."""
        self._shown.step = None  # which was told to have ended
        if self._along is not None:
            self._along.state = "halted"
        try:
            seen = self._watch.until_quiet(PEER_SECONDS, QUIET_SECONDS)
            if seen.state == "exited":
                return self._failure(FollowingEnd(seen))
            diagnosis = self._diagnosis(self._end(seen))
            if diagnosis.verdict in ("fault", "unknown_fault"):
                return self._failure(FollowingEnd(Seen("lingering")))
            if diagnosis.verdict == "hang":
                return self._failure(self._end(Seen("hanging")))
        except HostError:
            return None
        return Failure(self._under_way.launch, seen, diagnosis, overheard=True)

    def vouched(self) -> None:
        """A completion came out of another host's launch for which this one computes."""
        if self._along is not None:
            self._along.done = self._shown.summary(COMPUTES)
        self._healthy()

    def ask_again(self) -> Failure | None:
        """Ask a launch that was healthy before until a completion comes out (None), or until it is known to be broken."""
        end = self._answer()
        return None if end is None else self._failure(end)

    def _end(self, seen: Seen) -> FollowingEnd:
        """Whose ranks wait where all meet when the time for a launch is over waits in vain, since however long."""
        over = time.monotonic() - self._began > NEARLY * self._job.ready_seconds
        in_vain = over and self._shown.waits
        return FollowingEnd(seen, idle_seconds=FOR_GOOD_SECONDS if in_vain else self._shown.idle_seconds)

    def _settled(self, end: FollowingEnd | None) -> Failure | None:
        """What an end comes to. One that may have served for days is not given up for the first answer that fails."""
        if end is not None and end.lives and self._past == "older" and self._shown.serves:
            end = self._answer()
            if end is None:
                self._healthy()
        return None if end is None else self._failure(end)

    def _ready(self) -> FollowingEnd | None:
        usual = usual_seconds(self._plan.survey.observed.journal)
        doing = "starting" if usual is None else f"starting, {duration(usual)} the last time"
        limit = self._job.ready_seconds
        with self._job.report.step(f"launch {self._under_way.launch}", doing, limit=limit) as step:
            self._shown.step = step
            seen = self._watch.until_ready(limit)
            if seen.state != "ready":
                step.state, step.done = "failed", how_it_ended(seen, None)
                return self._end(seen)
            step.done = self._shown.summary("healthy")
            self._shown.answered = True
        return None

    def _completion(self) -> FollowingEnd | None:
        with self._job.report.step("smoke", "one real completion", limit=SMOKE_SECONDS) as step:
            self._shown.step = step
            trial = self._ask(SMOKE_SECONDS)
            answer = trial.answer
            step.data = {"completion": answer.as_json()}
            if answer.ok:
                step.done = tokens(answer)
                return None
            if answer.status in (401, 403):
                step.done = str(answer.error)
                raise self._not_for_us((trial,), "refuses")
            self._shown.completion_failed = True
            seen = self._watch.until_exit(LINGER_SECONDS if answer.late else EXIT_SECONDS)
            step.state, step.done = "failed", how_it_ended(seen, answer)
        if seen.state == "late" and vigil.tokens_made((trial,)):
            raise self._not_for_us((trial,), "busy")
        return FollowingEnd(seen, answer)

    def _answer(self) -> FollowingEnd | None:
        """Ask a server that was healthy, or may have served for days, until a completion came out (None), until it is
        known to be broken, or until its processes are gone."""
        limit = vigil.SECONDS + vigil.COMPLETION_SECONDS + vigil.PAUSE_SECONDS
        self._job.report.emit(
            "warning",
            f"launch {self._under_way.launch} was up and does not answer. Nothing is ended unless {vigil.COMPLETIONS} "
            f"completions fail over {duration(vigil.SECONDS)} and nobody else gets a token, or its processes are gone.",
        )
        trials: tuple[vigil.Trial, ...] = ()
        with self._job.report.step("answer", "waiting for a completion", limit=limit) as step:
            while True:
                trials = (*trials, self._ask(vigil.COMPLETION_SECONDS))
                answer, verdict = trials[-1].answer, vigil.verdict(trials)
                step.data = {"completion": answer.as_json(), "asked": len(trials)}
                if verdict == "answers":
                    step.done = f"{tokens(answer)}, after {vigil.tally(trials)}"
                    return None
                if verdict == "broken":
                    why = f"{vigil.tally(trials)} failed, the last: {answer.error}"
                    answer = answer.model_copy(update={"error": why})
                    step.state, step.done = "failed", how_it_ended(Seen("late"), answer, len(trials))
                    return FollowingEnd(Seen("late"), answer, len(trials))
                if verdict != "unknown":
                    raise self._not_for_us(trials, verdict)
                step.progress(f"{len(trials)} asked for, none came", asked=len(trials), error=answer.error)
                seen = self._watch.until_exit(vigil.PAUSE_SECONDS)
                if seen.state == "exited":
                    step.state, step.done = "failed", how_it_ended(seen, None)
                    return FollowingEnd(seen)

    def _ask(self, seconds: float) -> vigil.Trial:
        began = time.monotonic()
        answer = self._server.complete(self._under_way.endpoint, seconds=seconds)
        self.context = fewest(answer.context, self._live.context)
        return vigil.Trial(began, time.monotonic(), answer)

    def _not_for_us(
        self, trials: tuple[vigil.Trial, ...], verdict: Literal["busy", "refuses"]
    ) -> DeployError:
        """The error where a server serves, and only we get no completion: nothing was changed."""
        subject, answer = f"{self._job.host.name}: launch {self._under_way.launch}", trials[-1].answer
        if answer.status in (401, 403):
            return PreflightRefused(
                "no_key",
                f"{subject} answers, and asks for its API key: {answer.error}",
                variable=self._job.playbook.kind.key,
            )
        failed = f"{vigil.tally(trials)} of ours failed, the last: {answer.error}. Nothing was changed"
        if verdict == "refuses":
            return BudgetSpent("server_refuses", f"{subject} answers, and {failed}")
        made = f"makes tokens for others ({vigil.tokens_made(trials):,} meanwhile)"
        return BudgetSpent("server_busy", f"{subject} {made}, and {failed}")

    def _diagnosis(self, end: FollowingEnd) -> Diagnosis:
        """What its log says of it. A server that was up and was ended by somebody is not explained by a log in which its
        clients wrote; one that we have just started and that failed our own first completion had none."""
        at_its_start = self._past == "new" and end.answer is not None
        if self._shown.serves and end.ended_from_outside and not at_its_start:
            return Diagnosis(verdict="healthy")
        known = replace(
            self._plan.beside_log,
            idle_seconds=end.idle_seconds if end.lives else None,
            ended=end.by_itself,
            served=self._shown.serves,
        )
        patches = self._job.wishes.patches
        self._dumps = self._dumped(end)
        return diagnose_log(
            self._watch.log_lines(),
            grammar=self._grammar,
            known=known,
            patches=patches,
            dumped=dumps.stacks(self._dumps, self._job),
        )

    def _dumped(self, end: FollowingEnd) -> tuple[DumpFile, ...]:
        """The stacks of one that stands still. Whoever does not answer to the first completion has had no time to leave some
        since: what is there is of its start."""
        if not end.lives or (end.answer is not None and not (end.asked and end.answer.late)):
            return ()
        return dumps.left(self._job, self._under_way.launch, served=end.answer is not None)

    def _failure(self, end: FollowingEnd) -> Failure:
        """What became of it, on record."""
        launch, plan = self._under_way.launch, self._plan
        judged = self._judged(end.seen, self._diagnosis(end))
        diagnosis = judged.diagnosis
        failure = Failure(
            launch,
            end.seen,
            diagnosis,
            end.answer,
            asked=end.asked,
            known=judged.known,
            from_outside=judged.from_outside,
            came=self._came(end.seen, diagnosis),
            dumps=self._dumps,
        )
        finding = diagnosis.finding.patch if diagnosis.finding else None
        hung = end.lives and (end.answer is None or failure.hung) and finding is None
        record = OutcomeRecord(
            launch=launch,
            result="hang" if hung else "failed",
            cause=failure.cause,
            finding=finding,
            from_outside=failure.from_outside,
        )
        self._job.record(record)
        if finding is not None or not self._peers.alone:  # what several hosts have is packed together
            return failure
        try:
            path = packed(self._job, plan, failure, self._watch.log_lines(), self._dumps)
        except UsageError as error:  # what failed is to be told all the same
            self._job.report.emit("warning", error.message)
            return failure
        return replace(failure, bundle=str(path))

    def _came(self, seen: Seen, diagnosis: Diagnosis) -> float | None:
        """When it came here, by this machine's clock. What an earlier run started has long been written when it is read: then
        the log's own time, and none where it ended without a word."""
        root = diagnosis.root_cause
        if self._past == "new":
            return self._watch.arrived(root.line) if root else seen.at
        return written(self._watch.log_lines(), root.line, self._grammar) if root else None

    def _judged(self, seen: Seen, diagnosis: Diagnosis) -> Judged:
        """The diagnosis with what the host knows, where the log does not settle it."""
        if seen.state not in ("exited", "lingering") or not open_to_doubt(diagnosis):
            return Judged(diagnosis)
        end = ask(self._job.host, Ended(instance=self._job.name, launch=self._under_way.launch))
        ours = named(self._watch.log_lines(), self._grammar.processes)
        silent = ended_without_a_word(diagnosis, ours, self._grammar)
        return judge(diagnosis, end, ours, self._job.wishes.patches, silent=silent)

    def _healthy(self) -> None:
        """Put on record, once, that a completion came out of it."""
        if not self._proven:
            self._job.record(OutcomeRecord.healthy(self._under_way.launch, self.context))
        self._proven = True
