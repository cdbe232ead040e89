"""In which order are things done on a host, and what is done when a launch fails?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from orchestrator.attempt import Attempt, Failure
from orchestrator.checkpoint import ready
from orchestrator.engine.server import Server, tokens
from orchestrator.errors import (
    BudgetSpent,
    DeployError,
    LaunchFailed,
    PreflightRefused,
    UnknownFailure,
    UsageError,
)
from orchestrator.facts.gather import Facts
from orchestrator.journal import AppliedPatch, History
from orchestrator.lock import Lock
from orchestrator.plan import Plan, Wishes, differences, make_plan
from orchestrator.playbook import Playbook
from orchestrator.preflight import wants_linger
from orchestrator.remedy import apply
from orchestrator.remedy.change import Change
from orchestrator.remedy.choose import Decision, choose
from orchestrator.report.events import Report
from orchestrator.report.panel import finding_panel
from orchestrator.report.plan_text import summary
from orchestrator.ssh.host import Host
from orchestrator.survey import Survey, describe, observe, survey

FAILED_GRACE_SECONDS = 1.0
"""Grace for an engine that has failed already: all that is left to do is to be gone."""


@dataclass(frozen=True)
class Limits:
    """How often and how long to try; `ready_seconds` None takes the playbook's ready_timeout."""

    max_attempts: int = 4
    ready_seconds: float | None = None


class Deployment:
    """One playbook on one host. `ask` puts a question to a person; None where nobody can be asked."""

    def __init__(
        self,
        host: Host,
        playbook: Playbook,
        report: Report,
        wishes: Wishes,
        *,
        limits: Limits | None = None,
        ask: Callable[[str], bool] | None = None,
    ) -> None:
        self.host = host
        self.playbook = playbook
        self.report = report
        self.wishes = wishes
        self.limits = limits or Limits()
        self._ask = ask
        self._server = Server(host, playbook, report)
        self._attempt = Attempt(host, playbook, report, wishes.patches)
        self._facts: Facts | None = None
        self._again = f"{playbook.name} --host {host.name}"

    def plan(self) -> Plan:
        """What `up` would do; reads only."""
        return self._plan(self._survey())

    def differences(self) -> tuple[Change, ...]:
        """The changes that apply to the checkpoint and the command; reads only."""
        return differences(self.plan(), self.wishes.allowed)

    def status(self) -> dict[str, Any]:
        """How the deployment is now; reads only."""
        return describe(self.host.name, self.playbook, *observe(self.host, self.playbook))

    def logs(self, *, launch: int | None, lines: int | None, follow: bool) -> Iterator[bytes]:
        """The log of a launch, byte for byte; reads only."""
        observed, _ = observe(self.host, self.playbook, launch)
        if observed.log is None:
            raise UsageError(
                "no_launch",
                f"{self.host.name}: {self.playbook.name} has no log of {'a launch' if launch is None else launch} yet",
                next_command=f"deploy {self._again}",
            )
        start = "+1" if lines is None else str(lines)
        stream = self.host.stream(
            ["tail", "-n", start, *(["-F"] if follow else []), "--", observed.log["path"]]
        )
        try:
            yield from stream.chunks()
        finally:
            stream.close()

    def up(self) -> None:
        """Bring the playbook up until a completion comes out; raises what keeps it from that."""
        found = self._survey()
        if found.observed.serves(self.playbook.served_name):
            return self._confirm(found)
        plan = self._permitted(found)
        self._show_plan(plan)
        with self._lock("bringing it up") as lock:
            found = self._survey()
            failure = self._resume(plan, found)
            if failure is None or failure.silent:
                if failure is None and found.observed.alive:
                    return self._tell_healthy(changed=True)
                ready.make_ready(self.host, self.playbook, self.report, found, consents=self._given)
                failure = self._patch_and_launch()
            self._repair_until_healthy(failure, lock)
        return self._tell_healthy(changed=True)

    def remediate(self) -> None:
        """Diagnose the last launch, patch, clean, relaunch; never downloads."""
        found = self._survey()
        if found.observed.serves(self.playbook.served_name):
            return self._confirm(found)
        plan = self._permitted(found)
        with self._lock("remedying") as lock:
            failure = self._resume(plan, found, even_if_seen=True)
            if failure is None and found.observed.alive:
                return self._tell_healthy(changed=True)
            if failure is None or failure.silent:
                ready.require(self.host, self.playbook, self.report, found)
                failure = self._patch_and_launch()
            self._repair_until_healthy(failure, lock)
        return self._tell_healthy(changed=True)

    def patch_only(self) -> tuple[Change, ...]:
        """Apply what the last failure, a prediction or --patch asks for; starts and cleans nothing."""
        found = self._survey()
        plan = self._plan(found)
        self._consents(plan.missing_consents)
        with self._lock("patching"):
            changes = {change.patch.id: change for change in plan.changes}
            failure = None if found.observed.alive else self._resume(plan, found, even_if_seen=True)
            if failure is not None and not failure.silent:
                decision = self._decide(plan, found, failure)
                if decision.change is not None:
                    changes.setdefault(decision.change.patch.id, decision.change)
                elif not changes:
                    raise self._no_remedy(failure, decision)
            for change in changes.values():
                self._apply(plan, change, cause=failure.cause if failure else "")
        return tuple(changes.values())

    def restart(self) -> None:
        """Stop what runs, then launch again; a failure is repaired as in `up`."""
        self._consents(self._plan(self._survey()).missing_consents)
        with self._lock("restarting") as lock:
            self._server.stop(by_person=True)
            ready.require(self.host, self.playbook, self.report, self._survey())
            self._repair_until_healthy(self._patch_and_launch(), lock)
        self._tell_healthy(changed=True)

    def in_force(self) -> tuple[AppliedPatch, ...]:
        """The patches that are in force, newest first; reads only."""
        _, history = observe(self.host, self.playbook)
        return tuple(reversed(history.applied))

    def stop(self) -> dict[str, Any]:
        """End the launch with everything that belongs to it."""
        with self._lock("stopping"):
            return self._server.stop(by_person=True)

    def revert(self, patch_id: str | None) -> tuple[str, ...]:
        """Put back the original bytes, newest patch first; gives the patches taken back."""
        with self._lock("reverting"):
            _, history = observe(self.host, self.playbook)
            chosen = [one for one in reversed(history.applied) if patch_id in (None, one.patch)]
            for one in chosen:
                with self.report.step("revert") as step:
                    done = self._revert(one, by_person=True)
                    files = ", ".join(f"{file['name']}: {file['done']}" for file in done) or "options only"
                    step.done = f"{one.patch}   {files}"
                    step.data = {"patch": one.patch, "files": done}
        return tuple(one.patch for one in chosen)

    def verify(self, *, deep: bool) -> dict[str, Any]:
        """Judge the checkpoint's files without network."""
        return ready.judge(self.host, self.report, self._survey(), deep=deep)

    def _lock(self, doing: str) -> Lock:
        if self._facts is None:  # the first program settles by which python all programs are run
            observe(self.host, self.playbook)
        return Lock(self.host, self.playbook.name, doing)

    # Looking and asking

    def _survey(self) -> Survey:
        """How things stand now; the facts of the host are read once."""
        found = survey(self.host, self.playbook, facts=self._facts)
        self._facts = found.facts
        return found

    def _plan(self, found: Survey) -> Plan:
        return make_plan(self.host.name, self.playbook, found, self.wishes)

    def _permitted(self, found: Survey) -> Plan:
        """The plan, once nothing forbids it and every consent is given."""
        plan = self._plan(found)
        for refusal in plan.refusals:
            raise refusal
        self._consents(plan.missing_consents)
        return plan

    @property
    def _given(self) -> tuple[str, ...]:
        return (*self.playbook.consents, *self.wishes.consents)

    def _consents(self, missing: tuple[str, ...]) -> None:
        for consent in missing:
            if self._ask is None or not self._ask(
                f"{self.playbook.name} needs the consent {consent}. Give it?"
            ):
                raise PreflightRefused(
                    "consent_missing",
                    f"{self.host.name}: {self.playbook.name} needs the consent {consent}",
                    next_command=f"deploy {self._again} --consent {consent}",
                )
            self.wishes = replace(self.wishes, consents=(*self.wishes.consents, consent))

    # Telling

    def _show_plan(self, plan: Plan) -> None:
        self.report.emit("plan", "\n".join(summary(plan)), **plan.as_json())
        for warning in plan.warnings:
            self.report.emit("warning", warning)

    def _confirm(self, found: Survey) -> None:
        """A launch is in place and says it is healthy: believe it when a completion comes out."""
        with self.report.step("smoke") as step:
            answer = self._server.complete()
            step.done = tokens(answer) if answer["ok"] else str(answer["error"])
            step.state = "ok" if answer["ok"] else "failed"
        if not answer["ok"]:
            raise UnknownFailure(
                "no_completion",
                f"{self.host.name}: the engine says it is healthy but completes nothing: {answer['error']}",
                next_command=f"deploy restart {self._again}",
            )
        if found.history.outcome is None or found.history.outcome.result != "healthy":
            record = {"action": "outcome", "launch": found.observed.launch, "result": "healthy"}
            self.host.script("record", {"playbook": self.playbook.name, "record": record})
        self._tell_healthy(changed=False)

    def _tell_healthy(self, *, changed: bool) -> None:
        there = self.host.address if self.playbook.listens_openly else "127.0.0.1"
        url = f"http://{there}:{self.playbook.port}/v1"
        lines = (
            f"healthy  {url}   model {self.playbook.served_name}" + ("" if changed else "   nothing to do"),
            f"  follow  deploy logs {self._again} -f",
            f"  undo    deploy revert {self._again}",
            f"  stop    deploy stop {self._again}",
        )
        self.report.emit(
            "result",
            "\n".join(lines),
            healthy=True,
            changed=changed,
            url=url,
            model=self.playbook.served_name,
        )

    # Launching

    def _resume(self, plan: Plan, found: Survey, *, even_if_seen: bool = False) -> Failure | None:
        """Follow the launch that is under way, or look at the end of one that nobody has seen end.

        None where there is nothing to resume, or what was resumed is healthy.
        """
        launch, outcome = found.observed.launch, found.history.outcome
        if launch is None or (outcome is not None and outcome.result == "stopped"):
            return None
        seen = outcome is not None and outcome.result != "healthy"
        if seen and not found.observed.alive and not even_if_seen:
            return None
        return self._attempt.follow(plan, launch, ready_seconds=self._ready_seconds)

    @property
    def _ready_seconds(self) -> float:
        return self.limits.ready_seconds or float(self.playbook.ready_timeout)

    def _patch_and_launch(self) -> Failure | None:
        """One launch by a plan made now; None when it is healthy."""
        found = self._survey()
        plan = self._permitted(found)
        self._require_budget(found.history)
        if found.observed.launch is not None and not found.history.cleaned:
            self._server.stop(grace_seconds=FAILED_GRACE_SECONDS, by_person=False)
        for change in plan.changes:
            self._apply(plan, change, cause="")
        if "linger" in self._given and wants_linger(found):
            self._linger()
        launch = self._server.start(plan)
        return self._attempt.follow(plan, launch, ready_seconds=self._ready_seconds)

    def _linger(self) -> None:
        with self.report.step("linger") as step:
            done = self.host.run("loginctl enable-linger")
            if done.rc != 0:
                said = done.stderr.decode(errors="replace").strip()
                raise PreflightRefused("linger_refused", f"{self.host.name}: loginctl enable-linger: {said}")
            step.done = "logind keeps this user's processes and shared memory after the last logout"

    def _require_budget(self, history: History) -> None:
        if history.attempts < self.limits.max_attempts:
            return
        cause = history.outcome.cause if history.outcome else ""
        raise BudgetSpent(
            "attempts_spent",
            f"{self.host.name}: {history.attempts} launches of this incident are spent (--max-attempts "
            f"{self.limits.max_attempts}); the last cause: {cause or 'not known'}",
            next_command=f"deploy stop {self._again}    (a new incident begins after it)",
        )

    # Repairing

    def _repair_until_healthy(self, failure: Failure | None, lock: Lock) -> None:
        while failure is not None:
            lock.doing(f"repairing launch {failure.launch}")
            found = self._survey()
            plan = self._plan(found)
            decision = self._decide(plan, found, failure)
            if decision.change is None:
                raise self._no_remedy(failure, decision)
            self._consents(tuple(one for one in decision.change.consents if one not in self._given))
            self._require_budget(found.history)
            self._server.stop(grace_seconds=FAILED_GRACE_SECONDS, by_person=False)
            self._apply(plan, decision.change, cause=failure.cause)
            failure = self._patch_and_launch()

    def _decide(self, plan: Plan, found: Survey, failure: Failure) -> Decision:
        decision = choose(failure.diagnosis, plan, found, self.wishes)
        self.report.emit(
            "finding",
            finding_panel(failure.diagnosis, decision, launch=failure.launch),
            step=f"launch {failure.launch}",
            diagnosis=failure.diagnosis.model_dump(mode="json"),
            patch=decision.change.patch.id if decision.change else None,
            diff=decision.change.diff if decision.change else None,
        )
        if decision.revert is not None:
            self._revert(decision.revert, by_person=False)
        return decision

    def _apply(self, plan: Plan, change: Change, *, cause: str) -> None:
        with self.report.step("patch") as step:
            apply.apply(
                self.host,
                self.playbook.name,
                plan.folder,
                change,
                cause=cause,
                foreign_folder="foreign-folder" in self._given,
            )
            step.done = f"{change.patch.id} ({change.why}): {change.action}"
            step.data = {"patch": change.patch.id, "why": change.why, "diff": change.diff}

    def _revert(self, applied: AppliedPatch, *, by_person: bool) -> list[dict[str, str]]:
        consent = "foreign-folder" in self._given
        return apply.revert(
            self.host, self.playbook.name, applied, by_person=by_person, foreign_folder=consent
        )

    def _no_remedy(self, failure: Failure, decision: Decision) -> DeployError:
        what = f"{self.host.name}: launch {failure.launch}"
        logs = f"deploy logs {self._again}"
        finding = failure.diagnosis.finding
        if failure.seen.state == "foreign":
            owner = failure.seen.owner or {}
            who = f"pid {owner.get('pid')} ({owner.get('command')}, user {owner.get('user')})"
            return LaunchFailed("foreign_server", f"{what}: port {self.playbook.port} is answered by {who}")
        if finding is not None:
            return LaunchFailed(
                "no_remedy_left", f"{what} failed: {finding.title}. {decision.reason}", next_command=logs
            )
        if failure.seen.state == "late":
            last = f"the last it said: {failure.cause}"
            return BudgetSpent("not_ready", f"{what} was not healthy in time; {last}", next_command=logs)
        bundle = f". Log, plan and diagnosis are in {failure.bundle}" if failure.bundle else ""
        return UnknownFailure(
            "unknown_cause",
            f"{what} failed and no patch knows the cause: {failure.cause}{bundle}",
            next_command=logs,
        )
