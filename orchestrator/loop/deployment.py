"""In which order are things done on a host, and what is done when a launch fails?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from ipaddress import ip_address
from typing import Any, Literal

from orchestrator.base.amounts import bracketed, duration
from orchestrator.base.errors import BudgetSpent, DeployError, PreflightRefused, UsageError
from orchestrator.download import ready
from orchestrator.job import Job
from orchestrator.launch.attempt import Attempt
from orchestrator.launch.failure import Failure, gpu_busy, no_remedy
from orchestrator.launch.progress import Past
from orchestrator.launch.server import SMOKE_SECONDS, Server, UnderWay, tokens
from orchestrator.loop.leftovers import names_what_lives
from orchestrator.loop.lock import Lock
from orchestrator.loop.reading import DEADLINE_SECONDS, Reading
from orchestrator.plan.change import Change
from orchestrator.plan.plan import Goal, Plan, differing
from orchestrator.plan.preflight import wants_linger
from orchestrator.playbook.endpoint import endpoint_of
from orchestrator.remedy import apply, carry_out
from orchestrator.remedy.choose import Decision, choose
from orchestrator.report.panel import finding, panel_text
from orchestrator.report.plan_text import summary
from orchestrator.survey.journal import History, was_healthy
from orchestrator.survey.survey import Survey

OF_A_LAUNCH = ("trust-remote-code", "listen-openly")
"""Consents that only what is started needs: a patch alone runs nothing."""
FAILED_GRACE_SECONDS = 1.0
"""Grace for an engine that has failed already: all that is left to do is to be gone."""


class Deployment(Reading):
    """One playbook on one host, to be changed."""

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self._downloads = True
        """Whether a remedy may fetch files."""
        self._server = Server(job)
        self._attempt = Attempt(job)

    @names_what_lives
    def up(self) -> None:
        """Bring the playbook up until a completion comes out; raises what keeps it from that."""
        found = self._survey()
        if self._confirmed(found):
            return
        plan = self._permitted(found)
        self._show_plan(plan)
        with self._lock("bringing it up") as lock:
            found = self._survey()
            unanswered = self._unanswered(found)
            end = self._resume(plan, found, even_if_seen=unanswered)
            if isinstance(end, Failure) and not end.silent:
                self._repair_until_healthy(end, lock, launch_anyway=unanswered)
            elif end != "healthy":
                ready.make_ready(self.job, found)
                self._launch_until_healthy(lock)
        self._tell_healthy(plan, running=found.observed.endpoint if _untouched(end, found) else None)

    @names_what_lives
    def remediate(self) -> None:
        """Diagnose the last launch, patch, clean, relaunch; never downloads."""
        self._downloads = False
        found = self._survey()
        if self._confirmed(found):
            return
        plan = self._permitted(found)
        with self._lock("remedying") as lock:
            end = self._resume(plan, found, even_if_seen=True)
            if isinstance(end, Failure) and not end.silent:
                self._repair_until_healthy(end, lock)
            elif end != "healthy":
                ready.require(self.job, found)
                self._launch_until_healthy(lock)
        self._tell_healthy(plan, running=found.observed.endpoint if _untouched(end, found) else None)

    @names_what_lives
    def patch_only(self) -> tuple[Change, ...]:
        """Apply what the last failure, a prediction or --patch asks for; starts and cleans nothing."""
        found = self._survey()
        plan = self._plan(found)
        self._require_readable(found)
        of_changes = {consent for change in plan.changes for consent in change.consents}
        lacking = plan.lacking.items()
        self._consents({name: why for name, why in lacking if name in of_changes or name not in OF_A_LAUNCH})
        if not plan.changes:
            self._require_config(found)
        with self._lock("patching"):
            changes = {change.patch.id: change for change in plan.changes}
            end = "nothing" if found.observed.alive else self._resume(plan, found, even_if_seen=True)
            if isinstance(end, Failure) and not end.silent:
                decision = self._decide(plan, found, end)
                if decision.change is not None and decision.change.sets_something:
                    self._consents(self._not_given(decision.change))
                    changes.setdefault(decision.change.patch.id, decision.change)
                elif not changes and not decision.pending:
                    raise self._no_remedy(end, decision)
            for change in changes.values():
                self._apply(plan, change, cause=end.cause if isinstance(end, Failure) else "")
        return tuple(changes.values())

    @names_what_lives
    def restart(self) -> None:
        """Stop what runs, then launch again; nothing is stopped that could not be started."""
        found = self._survey()
        plan = self._permitted(found, "restart")
        ready.require(self.job, found)
        with self._lock("restarting") as lock:
            self._server.stop(by_person=True)
            self._launch_until_healthy(lock)
        self._tell_healthy(plan)

    def stop(self) -> None:
        """End the launch with everything that belongs to it."""
        with self._lock("stopping"):
            self._server.stop(by_person=True)

    def revert(self, patch_id: str | None, *, forget: bool = False) -> tuple[str, ...]:
        """Put back the original bytes, newest patch first; gives the patches taken back.

        `forget` leaves the files as they are and takes the patches out of force all the same.
        """
        with self._lock("reverting"):
            _, history = self._observe()
            chosen = [one for one in reversed(history.applied) if patch_id in (None, one.patch)]
            if patch_id is not None and not chosen:
                there = ", ".join(one.patch for one in history.applied) or "none"
                raise UsageError(
                    "patch_not_in_force",
                    f"{self.job.host.name}: {patch_id} is not in force for {self.job.playbook.name}; in force: {there}",
                    next_command=f"deploy status {self.job.again}",
                )
            for one in chosen:
                with self.job.report.step(
                    "revert", f"taking {one.patch} back", limit=DEADLINE_SECONDS
                ) as step:
                    done = apply.revert(self.job, one, by_person=True, forget=forget)
                    files = ", ".join(f"{file.name}: {file.done}" for file in done) or "options only"
                    step.done = f"{one.patch}   {files}"
                    step.data = {"patch": one.patch, "files": [file.as_json() for file in done]}
        return tuple(one.patch for one in chosen)

    def verify(self, *, deep: bool) -> ready.Checked:
        """Judge the checkpoint's files without network."""
        return ready.judge(self.job, self._survey(), deep=deep)

    @contextmanager
    def _lock(self, doing: str) -> Iterator[Lock]:
        if self._facts is None:  # the first program settles by which python all programs are run
            self._observe()
        with ExitStack() as held:
            with self.job.report.wait("lock", "for the word that nobody else deploys this here"):
                lock = held.enter_context(Lock(self.job, doing))
            yield lock

    # Looking and asking

    def _permitted(self, found: Survey, goal: Goal = "up") -> Plan:
        """The plan, once nothing forbids it and every consent is given."""
        plan = self._plan(found, goal)
        for refusal in plan.refusals:
            if refusal.code == "port_shared":
                refusal.next_command = self._elsewhere
            raise refusal
        self._consents(plan.lacking)
        return plan

    def _not_given(self, change: Change) -> dict[str, str]:
        """The consents that a remedy asks for by itself and nobody gave."""
        return {one: change.patch.id for one in change.consents if one not in self.job.consents}

    def _consents(self, missing: Mapping[str, str]) -> None:
        """Have each consent given by the person, or refuse; `missing` says what asks for it."""
        for consent, why in missing.items():
            need = f"{self.job.playbook.name} needs the consent {consent} ({why})"
            if self.job.ask is None or not self.job.ask(f"{need}. Give it?"):
                raise PreflightRefused(
                    "consent_missing",
                    f"{self.job.host.name}: {need}",
                    next_command=f"{{command}} --consent {consent}",
                )
            self.job = self.job.allowing(consent)

    # Telling

    def _show_plan(self, plan: Plan) -> None:
        self.job.report.emit("plan", "\n".join(summary(plan)), **plan.as_json())
        for warning in plan.warnings:
            self.job.report.emit("warning", warning)

    def _confirmed(self, found: Survey) -> bool:
        """Whether a launch is in place from which a completion comes out; /health alone is not believed."""
        if not found.observed.serves:
            return False
        with self.job.report.step("smoke", "one real completion", limit=SMOKE_SECONDS) as step:
            answer = self._server.complete(found.observed.endpoint)
            step.done = tokens(answer) if answer.ok else str(answer.error)
            step.state = "ok" if answer.ok else "failed"
        if not answer.ok:
            return False
        if found.outcome is None or found.outcome.result != "healthy":
            record = {"action": "outcome", "launch": found.observed.launch, "result": "healthy"}
            self.job.record(record)
        plan = self._plan(found)
        for difference in differing(plan, found.observed.command):
            self.job.report.emit(
                "warning",
                f"the running launch differs: {difference}; deploy restart {self.job.again} applies it",
            )
        self._tell_healthy(plan, running=found.observed.endpoint)
        return True

    def _tell_healthy(self, plan: Plan, *, running: Mapping[str, Any] | None = None) -> None:
        """The closing lines; `running` is where a launch that was found in place answers."""
        place = running or endpoint_of(self.job.playbook)
        open_to_all = not ip_address(place["host"].replace("localhost", "127.0.0.1")).is_loopback
        url = f"http://{bracketed(self.job.host.address if open_to_all else '127.0.0.1')}:{place['port']}/v1"
        done = "nothing to do" if running else f"{duration(self.job.report.seconds)} in all"
        lines = [f"healthy  {url}   model {place['model']}   {done}"]
        if self.job.lasting:
            lines += [
                f"  follow  deploy logs {self.job.again} -f",
                f"  undo    deploy revert {self.job.again}",
                f"  stop    deploy stop {self.job.again}",
            ]
        data = {"healthy": True, "changed": running is None, "url": url, "model": place["model"]}
        self.job.report.emit("result", "\n".join(lines), **data)

    # Launching

    def _resume(
        self, plan: Plan, found: Survey, *, even_if_seen: bool = False
    ) -> Failure | Literal["healthy", "nothing"]:
        """Follow the launch that is under way, or look at the end of one that nobody has seen end."""
        launch, outcome = found.observed.launch, found.outcome
        if launch is None or (outcome is not None and outcome.result == "stopped"):
            return "nothing"
        seen = outcome is not None and outcome.result != "healthy"
        if seen and not found.observed.alive and not even_if_seen:
            return "nothing"
        observed = found.observed
        listens = bool(observed.listener and observed.listener["ours"])
        served = listens or was_healthy(observed.journal, launch)
        under_way = UnderWay(launch, (observed.log or {}).get("path"), observed.endpoint, served)
        past: Past = "healthy" if found.proven else "older"
        failure = self._attempt.follow(plan, under_way, past=past)
        return failure or "healthy"

    def _unanswered(self, found: Survey) -> bool:
        """Whether the last launch failed for a cause whose remedy was not tried: a run was ended in between."""
        outcome = found.outcome
        finding = outcome.finding if outcome else None
        return finding not in found.history.tried and any(
            patch.remedy for patch in self.job.wishes.patches if patch.id == finding
        )

    def _launch_until_healthy(self, lock: Lock) -> None:
        self._repair_until_healthy(self._patch_and_launch(lock), lock)

    def _patch_and_launch(self, lock: Lock) -> Failure | None:
        """One launch by a plan made now; None when it is healthy."""
        found = self._survey()
        plan = self._permitted(found)
        self._require_budget(found.history)
        lock.require()
        if found.observed.launch is not None and not found.history.cleaned:
            self._server.stop(grace_seconds=FAILED_GRACE_SECONDS, by_person=False)
        for change in plan.changes:
            self._apply(plan, change, cause="")
        if "linger" in self.job.consents and wants_linger(found):
            self._linger()
        if plan.trusted is not None:
            self.job.record(plan.trusted)
        lock.require()
        with self.job.report.wait("start", "the engine's process", limit=DEADLINE_SECONDS):
            under_way = self._server.start(plan)
        return self._attempt.follow(plan, under_way, past="new")

    def _linger(self) -> None:
        with self.job.report.step("linger", "asking logind", limit=DEADLINE_SECONDS) as step:
            done = self.job.host.run("loginctl enable-linger")
            if done.rc != 0:
                said = done.stderr.decode(errors="replace").strip()
                raise PreflightRefused(
                    "linger_refused",
                    f"{self.job.host.name}: loginctl enable-linger: {said}",
                    next_command=f'sudo loginctl enable-linger "$USER"  # on {self.job.host.name}',
                )
            step.done = "logind keeps this user's processes and shared memory after the last logout"

    def _require_budget(self, history: History) -> None:
        if history.attempts < self.job.limits.max_attempts:
            return
        cause = history.outcome.cause if history.outcome else ""
        raise BudgetSpent(
            "attempts_spent",
            f"{self.job.host.name}: {history.attempts} launches of this incident are spent (--max-attempts "
            f"{self.job.limits.max_attempts}); the last cause: {cause or 'not known'}",
            next_command=f"deploy stop {self.job.again}    (a new incident begins after it)",
        )

    # Repairing

    def _repair_until_healthy(
        self, failure: Failure | None, lock: Lock, *, launch_anyway: bool = False
    ) -> None:
        """`launch_anyway`: the failure is an old one, and where nothing is to be done about it a person may have been."""
        while failure is not None:
            lock.doing(f"repairing launch {failure.launch}")
            found = self._survey()
            plan = self._plan(found)
            decision = self._decide(plan, found, failure)
            change = decision.change
            if change is None and not decision.pending and not launch_anyway:
                raise self._no_remedy(failure, decision)
            launch_anyway = False
            self._require_budget(found.history)
            if change is not None:
                self._consents(self._not_given(change))
                lock.require()
                self._server.stop(grace_seconds=FAILED_GRACE_SECONDS, by_person=False)
                self._carry_out(plan, found, change, failure)
                self._apply(plan, change, cause=failure.cause)
            failure = self._patch_and_launch(lock)

    def _carry_out(self, plan: Plan, found: Survey, change: Change, failure: Failure) -> None:
        """What a remedy does once, besides what it sets."""
        short = carry_out.clean(self.job, plan, change)
        if short is not None:  # another launch would only be refused again
            self._tell_finding(failure, Decision(None, short.advice), host=short.sentence)
            raise gpu_busy(self.job.host.name, failure.launch, short)
        if change.redownloads:
            carry_out.discard(self.job, found, change)
            ready.make_ready(self.job, self._survey())

    def _decide(self, plan: Plan, found: Survey, failure: Failure) -> Decision:
        with self._located(found):
            decision = choose(
                failure.diagnosis,
                plan,
                found,
                self.job.wishes,
                launch=failure.launch,
                downloads=f"deploy {self.job.again}" if not self._downloads else None,
                from_outside=failure.from_outside,
            )
        self._tell_finding(failure, decision, host=failure.known)
        if decision.revert is not None:
            patch = decision.revert.patch
            with self.job.report.step("revert", f"taking {patch} back", limit=DEADLINE_SECONDS) as step:
                apply.revert(self.job, decision.revert, by_person=False)
                step.done = f"{patch} taken back, it did not help"
        return decision

    def _tell_finding(self, failure: Failure, decision: Decision, *, host: str) -> None:
        """The panel of a failure; `host` is what the host knows beside the log."""
        words = finding(
            failure.diagnosis,
            decision,
            launch=failure.launch,
            known=len(self.job.wishes.patches),
            bundle=failure.bundle,
            host=host,
        )
        diff = decision.change.diff if decision.change else None
        self.job.report.emit(
            "finding",
            panel_text(words, diff or ""),
            step=f"launch {failure.launch}",
            diagnosis=failure.diagnosis.model_dump(mode="json"),
            patch=decision.change.patch.id if decision.change else None,
            diff=diff,
            panel=words,
        )

    def _apply(self, plan: Plan, change: Change, *, cause: str) -> None:
        with self.job.report.step("patch", change.patch.id, limit=DEADLINE_SECONDS) as step:
            apply.apply(self.job, plan.folder, change, cause=cause)
            step.done = f"{change.patch.id} ({change.why}): {change.action}"
            step.data = {"patch": change.patch.id, "why": change.why, "diff": change.diff}

    def _no_remedy(self, failure: Failure, decision: Decision) -> DeployError:
        reason = decision.reason or "What a person can do is told with the finding"
        error = no_remedy(failure, reason, host=self.job.host.name, again=self.job.again)
        if error.code == "foreign_server":
            error.next_command = self._elsewhere
        return error

    @property
    def _elsewhere(self) -> str:
        """What to type where somebody else's server answers on the port of a launch of ours."""
        return f"deploy stop {self.job.again}    (then up again with --set port=PORT)"


def _untouched(end: Failure | Literal["healthy", "nothing"], found: Survey) -> bool:
    """Whether a launch that was healthy before only took its time to answer."""
    return end == "healthy" and found.proven
