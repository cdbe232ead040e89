"""How did one launch go, and if it failed, why?"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from orchestrator.base import bundle
from orchestrator.base.amounts import duration
from orchestrator.base.errors import BudgetSpent, DeployError, PreflightRefused, UsageError
from orchestrator.diagnosis.engine import Context, Diagnosis, diagnose_log
from orchestrator.diagnosis.live import Live
from orchestrator.job import Job
from orchestrator.launch import vigil
from orchestrator.launch.ended import Judged, judge, named, of_its_own, open_to_doubt
from orchestrator.launch.failure import Failure, how_it_ended
from orchestrator.launch.progress import LINGER_SECONDS, Past, Progress
from orchestrator.launch.server import SMOKE_SECONDS, Server, UnderWay, tokens
from orchestrator.launch.watch import Seen, Watch
from orchestrator.plan.plan import Plan
from orchestrator.playbook.endpoint import endpoint_of
from orchestrator.programs.ask import ask
from orchestrator.programs.ended import Ended
from orchestrator.programs.smoke import Completion
from orchestrator.programs.watch import FollowLaunch
from orchestrator.survey.journal import usual_seconds

EXIT_SECONDS = 20.0
"""How long an engine whose first completion failed may take to end by itself."""
HEALTH_INTERVAL_SECONDS = 0.25


@dataclass(frozen=True)
class _End:
    """How the following of a launch ended without a completion. `answer` is of the last completion that was asked for,
    `asked` how many were of a server that was up, `idle_seconds` how long there had been no sign of life."""

    seen: Seen
    answer: Completion | None = None
    asked: int = 0
    idle_seconds: float | None = None

    @property
    def lives(self) -> bool:
        """Whether its processes live, and nothing says that they are done for."""
        return self.seen.state in ("late", "hanging")

    @property
    def by_itself(self) -> bool:
        """Whether the engine ended by an error of its own: its exit status says so, or its last answer to us (HTTP 5xx).

        vLLM's API server shuts down in good order after its engine died, and may then leave 0.
        """
        status = self.answer.status if self.answer is not None else None
        failed = status is not None and status >= 500
        return self.seen.state == "exited" and (failed or of_its_own(self.seen.exit_code))

    @property
    def ended_from_outside(self) -> bool:
        """Whether it is gone, and nothing says that it ended itself."""
        return self.seen.state == "exited" and not self.by_itself


class Attempt:
    """One launch of a playbook, followed to its first completion or its end."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._server = Server(job)

    def follow(self, plan: Plan, under_way: UnderWay, *, past: Past) -> Failure | None:
        """Follow a launch until a completion came out (None) or until it failed; its outcome goes on record.

        Raises BudgetSpent("server_busy" or "server_refuses") or PreflightRefused("no_key") where it serves and only we
        get no completion: nothing goes on record then, and nothing is to be repaired.
        """
        request = FollowLaunch(
            **{**endpoint_of(self._job.playbook), **under_way.endpoint},
            playbook=self._job.name,
            launch=under_way.launch,
            interval=HEALTH_INTERVAL_SECONDS,
        )
        shown = Progress(Live(context_of(plan), self._job.wishes.patches), past, served=under_way.served)
        with Watch(
            self._job.host,
            log=under_way.log,
            request=request,
            on_log=shown.log,
            on_wait=shown.waited,
            given_up=shown.given_up,
        ) as watch:
            end = None if past == "healthy" else self._first(plan, under_way, watch, shown)
            if past == "healthy" or (end is not None and end.lives and past == "older" and shown.serves):
                end = self._ask_again(under_way, watch)
            if end is not None:
                diagnosis = self._diagnosis(plan, end, watch, shown, past)
                return self._failure(plan, under_way.launch, end, diagnosis, watch)
            if past != "healthy":
                self._record(under_way.launch, "healthy")
            return None

    def _first(self, plan: Plan, under_way: UnderWay, watch: Watch, shown: Progress) -> _End | None:
        """Follow it until its first completion came out (None) or it failed."""
        usual = usual_seconds(plan.survey.observed.journal)
        ready_seconds = self._job.ready_seconds
        doing = "starting" if usual is None else f"starting, {duration(usual)} the last time"
        with self._job.report.step(f"launch {under_way.launch}", doing, limit=ready_seconds) as step:
            shown.step = step
            seen = watch.until_ready(ready_seconds)
            if seen.state != "ready":
                step.state, step.done = "failed", how_it_ended(seen, None)
                return _End(seen, idle_seconds=shown.idle_seconds)
            step.done = shown.summary
            shown.answered = True
        with self._job.report.step("smoke", "one real completion", limit=SMOKE_SECONDS) as step:
            shown.step = step
            asked = self._ask(under_way, SMOKE_SECONDS)
            answer = asked.answer
            step.data = {"completion": answer.as_json()}
            if answer.ok:
                step.done = tokens(answer)
                return None
            if answer.status in (401, 403):
                step.done = str(answer.error)
                raise self._not_for_us(under_way, (asked,), "refuses")
            shown.completion_failed = True
            seen = watch.until_exit(LINGER_SECONDS if answer.late else EXIT_SECONDS)
            step.state, step.done = "failed", how_it_ended(seen, answer)
        if seen.state == "late" and vigil.tokens_made((asked,)):
            raise self._not_for_us(under_way, (asked,), "busy")
        return _End(seen, answer)

    def _ask_again(self, under_way: UnderWay, watch: Watch) -> _End | None:
        """Ask a server that was healthy, or may have served for days, until a completion came out (None), until it is
        known to be broken, or until its processes are gone."""
        limit = vigil.SECONDS + vigil.COMPLETION_SECONDS + vigil.PAUSE_SECONDS
        self._job.report.emit(
            "warning",
            f"launch {under_way.launch} was up and does not answer. Nothing is ended unless {vigil.COMPLETIONS} "
            f"completions fail over {duration(vigil.SECONDS)} and nobody else gets a token, or its processes are gone.",
        )
        asked: tuple[vigil.Asked, ...] = ()
        with self._job.report.step("answer", "waiting for a completion", limit=limit) as step:
            while True:
                asked = (*asked, self._ask(under_way, vigil.COMPLETION_SECONDS))
                answer, said = asked[-1].answer, vigil.verdict(asked)
                step.data = {"completion": answer.as_json(), "asked": len(asked)}
                if said == "answers":
                    step.done = f"{tokens(answer)}, after {vigil.told(asked)}"
                    return None
                if said == "broken":
                    why = f"{vigil.told(asked)} failed, the last: {answer.error}"
                    answer = answer.model_copy(update={"error": why})
                    step.state, step.done = "failed", how_it_ended(Seen("late"), answer, len(asked))
                    return _End(Seen("late"), answer, len(asked))
                if said != "unknown":
                    raise self._not_for_us(under_way, asked, said)
                step.progress(f"{len(asked)} asked for, none came", asked=len(asked), error=answer.error)
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
        what, answer = f"{self._job.host.name}: launch {under_way.launch}", asked[-1].answer
        if answer.status in (401, 403):
            return PreflightRefused(
                "no_key",
                f"{what} answers, and asks for its API key: {answer.error}",
                next_command=f"{{command}} --env {self._job.playbook.kind.key}",
            )
        told = f"{vigil.told(asked)} of ours failed, the last: {answer.error}. Nothing was changed"
        look = f"deploy status {self._job.again}"
        if said == "refuses":
            return BudgetSpent("server_refuses", f"{what} answers, and {told}", next_command=look)
        made = f"makes tokens for others ({vigil.tokens_made(asked):,} meanwhile)"
        return BudgetSpent("server_busy", f"{what} {made}, and {told}", next_command=look)

    def _diagnosis(self, plan: Plan, end: _End, watch: Watch, shown: Progress, past: Past) -> Diagnosis:
        """What its log says of it. A server that was up and was ended by somebody is not explained by a log in which its
        clients wrote; one that we have just started and that failed our own first completion had none."""
        at_its_start = past == "new" and end.answer is not None
        if shown.serves and end.ended_from_outside and not at_its_start:
            return Diagnosis(verdict="healthy")
        context = replace(
            context_of(plan),
            idle_seconds=end.idle_seconds if end.lives else None,
            ended=end.by_itself,
            served=shown.serves,
        )
        return diagnose_log(watch.log_lines(), context=context, patches=self._job.wishes.patches)

    def _failure(self, plan: Plan, launch: int, end: _End, diagnosis: Diagnosis, watch: Watch) -> Failure:
        """What became of it, on record."""
        judged = self._judged(launch, end.seen, diagnosis, watch)
        diagnosis = judged.diagnosis
        failure = Failure(
            launch,
            end.seen,
            diagnosis,
            end.answer,
            asked=end.asked,
            known=judged.known,
            from_outside=judged.from_outside,
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
        name = f"{self._job.playbook.name}-{self._job.host.name}-launch{launch}"
        try:
            path = bundle.write(name, watch.log_lines(), documents)
        except UsageError as error:  # what failed is to be told all the same
            self._job.report.emit("warning", error.message)
            return failure
        return replace(failure, bundle=str(path))

    def _judged(self, launch: int, seen: Seen, diagnosis: Diagnosis, watch: Watch) -> Judged:
        """The diagnosis with what the host knows, where the log does not settle it."""
        if seen.state != "exited" or not open_to_doubt(diagnosis):
            return Judged(diagnosis)
        end = ask(self._job.host, Ended(playbook=self._job.name, launch=launch))
        return judge(diagnosis, end, named(watch.log_lines()), self._job.wishes.patches)

    def _record(self, launch: int, result: str, **more: Any) -> None:
        self._job.record({"action": "outcome", "launch": launch, "result": result, **more})


def context_of(plan: Plan) -> Context:
    """What is known about a launch by this plan, beside its log."""
    return Context(
        vllm_version=plan.version, compute_cap=plan.compute_cap, gpus=plan.gpus, argv=plan.options.argv
    )
