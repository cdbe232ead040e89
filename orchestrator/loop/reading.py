"""What can be asked of a deployment on one host without changing anything there?"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from orchestrator.base.data_folders import data_folders
from orchestrator.base.errors import CheckpointError, DeployError, UsageError
from orchestrator.engines.command_line import arguments_of
from orchestrator.facts.gather import Facts
from orchestrator.job import Job
from orchestrator.models.choose import PYTHON, Chosen, brought, choose, foreseen
from orchestrator.models.hardware import profile_of
from orchestrator.on_host.checkpoint.configs import CONFIG
from orchestrator.plan.change import Change
from orchestrator.plan.differences import differences
from orchestrator.plan.known import of_host
from orchestrator.plan.plan import Plan, make_plan
from orchestrator.plan.preflight import elsewhere
from orchestrator.plan.wishes import Goal
from orchestrator.playbook.choice import Choice
from orchestrator.programs.journal import JournalRecord
from orchestrator.programs.observe import Log
from orchestrator.steps.clean import Clean
from orchestrator.steps.course import Course, course
from orchestrator.steps.revert import Revert
from orchestrator.steps.step import Onward
from orchestrator.survey.journal import History, was_healthy
from orchestrator.survey.membership import Membership, membership
from orchestrator.survey.observed import Observed, observe
from orchestrator.survey.status import describe
from orchestrator.survey.survey import Survey
from orchestrator.survey.survey import survey as survey_of

if TYPE_CHECKING:
    from orchestrator.diagnosis.verdict import Diagnosis
    from orchestrator.download.exchange import CheckpointExchange
    from orchestrator.download.verdict import Checked

DEADLINE_SECONDS = 30.0
"""How long one program on the host may take to answer (`Host.script`)."""
SURVEY_SECONDS = 3 * DEADLINE_SECONDS


@dataclass(frozen=True)
class Explained:
    """What the log of a launch comes to, where it lies on the host, whether the launch's processes have ended, and with which hosts
    it serves one model, where this one was named alone."""

    diagnosis: Diagnosis
    path: str
    gone: bool
    part_of: tuple[str, ...] = ()


class Reading:
    """One playbook on one host, as it stands."""

    def __init__(self, job: Job, role: str = "") -> None:
        self.role = role
        """What it is for in a group of several; "" where it serves alone."""
        self.job = job
        """As it was asked for, with the consents that the person gave meanwhile."""
        self.context: int | None = None
        """Tokens of one request, as the server told with the last completion that this run asked for."""
        self.exchange: CheckpointExchange | None = None
        """By which the hosts of a group give each other the checkpoint; None where each asks the Hub."""
        self._facts: Facts | None = None
        self._place: tuple[str, str, str] | None = None
        self.membership: Membership | None = None
        """With which other hosts its last launch served, when it was looked at; None once that was stopped and cleaned."""
        self._brought: tuple[Choice, ...] = ()
        """That another engine of the host was taken than the one in its usual Python."""

    def course(self, goal: Goal = "up", begin: Onward | None = None) -> Course:
        """What a verb would do, from the start or where an earlier step left off; reads only."""
        if begin in ("installed", "crowded"):
            self.look_anew()
        plan = self.plan(goal)  # which may find out by which Python the job is done
        return self.listed(plan, goal, begin)

    def listed(self, plan: Plan, goal: Goal, begin: Onward | None) -> Course:
        """The steps by this plan."""
        way = self.exchange.way(self.job.host.name) if self.exchange else None
        return course(self.job, plan, goal, begin, way)

    def look_anew(self) -> None:
        """Have the facts of the host read again with the next plan."""
        self._facts = None

    def differences(self, plan: Plan) -> tuple[Change, ...]:
        """The changes that apply to the checkpoint and the command."""
        self.require_readable(plan.survey)
        changes = differences(plan, self.job.wishes.allowed)
        if not changes:
            self.require_config(plan.survey)
        return changes

    def status(self) -> dict[str, Any]:
        """How the deployment is now; reads only."""
        return describe(self.job.host.name, self.job.playbook, *self.observe())

    def history(self) -> tuple[JournalRecord, ...]:
        """What was done on this machine, oldest first: the journal's records; reads only."""
        observed, _ = self.observe()
        return observed.journal

    def logs(self, *, launch: int | None, lines: int | None, follow: bool) -> Iterator[bytes]:
        """The log of a launch, byte for byte; reads only. Raises UsageError("no_launch")."""
        observed, _ = self.observe(launch)
        log = self._log_of(observed, launch)
        start = "+1" if lines is None else str(lines)
        return self._streamed(["tail", "-n", start, *(["-F"] if follow else []), "--", log.path])

    def _streamed(self, command: Sequence[str]) -> Iterator[bytes]:
        stream = self.job.host.stream(command)
        try:
            yield from stream.chunks()
        finally:
            stream.close()

    def explain(self, *, launch: int | None) -> Explained:
        """The diagnosis of a launch's log; reads only.

        What the host knows (versions, cards, the command, how long the log has been silent) goes into it.
        """
        from orchestrator.diagnosis.engine import diagnose_log
        from orchestrator.launch import dumps
        from orchestrator.launch.ended import of_its_own

        survey = self.survey()
        observed = survey.observed if launch is None else self.observe(launch)[0]
        log = self._log_of(observed, launch)
        command = (observed.command or {}).get("argv") or ()
        own = membership(observed.command)
        part_of = own.hosts if own and not self.job.group else ()
        known = replace(
            of_host(self.job.playbook, survey, self.job.wishes.version(survey)),
            # a rank that computes for another host is silent while all is well
            idle_seconds=log.silent_seconds if observed.alive and not part_of else None,
            arguments=arguments_of(tuple(command)) if command else None,
            ended=not observed.alive and of_its_own(observed.exit_code),
            served=observed.launch is not None and was_healthy(observed.journal, observed.launch),
        )
        stands = observed.launch if observed.alive and not known.served else None
        files = dumps.left(self.job, stands) if stands is not None else ()
        stream = self.job.host.stream(["tail", "-c", "+1", "--", log.path])
        try:
            diagnosis = diagnose_log(
                stream.chunks(),
                grammar=self.job.playbook.kind.log,
                known=known,
                patches=self.job.wishes.patches,
                dumped=dumps.stacks(files, self.job),
            )
        finally:
            stream.close()
        return Explained(diagnosis, log.path, gone=not observed.alive, part_of=part_of)

    def written(self, explained: Explained) -> float | None:
        """When the root cause was written, as the log says (`moments.written`); reads only."""
        from orchestrator.diagnosis.lines import cut
        from orchestrator.diagnosis.moments import written

        root = explained.diagnosis.root_cause
        if root is None:
            return None
        lines = cut(self._streamed(["head", "-n", str(root.line), "--", explained.path]))
        return written(lines, root.line, self.job.playbook.kind.log)

    def _log_of(self, observed: Observed, launch: int | None) -> Log:
        if observed.log is None:
            which = "no launch yet" if launch is None else f"no launch {launch}"
            raise UsageError("no_launch", f"{self.job.host.name}: {self.job.name} has {which} with a log")
        return observed.log

    def ending(self, *, anew: bool = False) -> Clean:
        """What `stop` would end; reads only. `anew`: it is started again at once."""
        observed, _ = self.observe()
        return Clean(observed, by_person=True, anew=anew)

    def taking_back(self, patch_id: str | None, *, forget: bool = False) -> tuple[Revert, ...]:
        """What `revert` would take back, newest patch first; reads only.

        Raises UsageError("patch_not_in_force") for a patch that is not in force.
        """
        _, history = self.observe()
        chosen = [applied for applied in reversed(history.applied) if patch_id in (None, applied.patch)]
        if patch_id is not None and not chosen:
            there = ", ".join(applied.patch for applied in history.applied) or "none"
            raise UsageError(
                "patch_not_in_force",
                f"{self.job.host.name}: {patch_id} is not in force for {self.job.name}; in force: {there}",
            )
        return tuple(Revert(applied, forget=forget) for applied in chosen)

    def verify(self, *, deep: bool) -> Checked:
        """Judge the checkpoint's files without network; reads only."""
        from orchestrator.download.verdict import judge

        return judge(self.job, self.survey(), deep=deep)

    def require_readable(self, survey: Survey) -> None:
        """Raise where a config file cannot be read."""
        if survey.checkpoint.unusable:
            what = ", ".join(f"{name} {why}" for name, why in survey.checkpoint.unusable.items())
            raise CheckpointError(
                "config_broken",
                f"{self.job.host.name}: in {survey.checkpoint.folder} {what}",
            )

    def require_config(self, survey: Survey) -> None:
        """Where nothing was found to be changed: that there is something in which it was looked for."""
        if "config.json" not in survey.checkpoint.configs:
            raise CheckpointError(
                "config_missing",
                f"{self.job.host.name}: there is no config.json in {survey.checkpoint.folder}",
            )

    def survey(self) -> Survey:
        """How things stand now; the facts of the host are read once."""
        what = "GPUs, engine, disk, checkpoint" if self._facts is None else "checkpoint and launch"
        with self.job.report.wait("look at", what, limit=SURVEY_SECONDS):
            survey = survey_of(self.job.host, self.job.playbook, facts=self._facts)
        self._facts = survey.facts
        self._note(survey.observed, survey.history)
        return survey

    def observe(self, launch: int | None = None) -> tuple[Observed, History]:
        """The last launch, or this one, and what was done before."""
        with self.job.report.wait("look at", "the launch and its history", limit=DEADLINE_SECONDS):
            observed = observe(self.job.host, self.job.playbook, launch)
        self._note(*observed)
        return observed

    def _note(self, observed: Observed, history: History) -> None:
        self._place = observed.place
        self.membership = None if history.cleaned else membership(observed.command)

    @property
    def place(self) -> tuple[str, str, str]:
        """`Observed.place`; looks where nobody has looked yet."""
        if self._place is None:
            self._place = self.observe()[0].place
        return self._place

    @contextmanager
    def named(self) -> Iterator[None]:
        """An error of one host of a group says of which role it is, and on which host."""
        try:
            yield
        except DeployError as error:
            if self.role and "role" not in error.known:
                host = self.job.host.name
                at = "" if error.message.startswith(f"{host}: ") else f"{host}: "
                error.message = f"{self.role} on {at}{error.message}"
                error.known["role"] = self.role
            raise

    def plan(self, goal: Goal = "up") -> Plan:
        """What would be launched, by how things stand now."""
        survey, host, wishes = self._with_an_engine(), self.job.host.name, self.job.wishes
        with self.located(survey):
            chosen = self._chosen(survey)
            if (
                self.job.published
                and CONFIG not in survey.checkpoint.configs
                and not survey.checkpoint.unusable
            ):
                survey = foreseen(survey, self.job.published)
            choices = (*self.job.spread, *chosen.choices)
            return make_plan(host, chosen.playbook, survey, wishes, goal=goal, choices=choices)

    def _with_an_engine(self) -> Survey:
        """How things stand now; where no engine is named any of the host will do, wherever it lies."""
        survey = self._on_its_processor(self.survey())
        asked = self.job
        version, playbook = asked.wishes.version(survey), asked.playbook
        fits = version is not None and playbook.engine.accepts(version)
        open_ = playbook.choose and playbook.origin(*PYTHON) == "default"
        other = elsewhere(playbook, survey) if open_ and not fits else None
        if other is None:
            return survey
        facts, self._facts = self._facts, None
        self.job = replace(asked, playbook=playbook.completed({PYTHON: other.python}))
        there = self.survey()
        if there.engine is not None:
            self._brought = (brought(self.job.playbook, there),)
            return there
        self.job, self._facts = asked, facts
        return survey

    def _on_its_processor(self, survey: Survey) -> Survey:
        """How things stand; an engine of our own that is asked for on a host without GPUs is its build for CPUs, where it is not
        for certain that GPUs are needed."""
        playbook = self.job.playbook
        pinned = playbook.engine.pinned
        needed = playbook.source is not None and playbook.gpus > 0
        if pinned is None or pinned.on_cpu or needed or not survey.facts.without_gpus:
            return survey
        release = pinned.without_gpus(playbook.kind)
        if release == pinned:
            return survey
        words = f"{self.job.host.name} has no GPU: {release} is {pinned} for such a host"
        self.job.report.emit("note", words)
        engine = playbook.engine.model_copy(update={"install": str(release)})
        self.job = replace(self.job, playbook=playbook.model_copy(update={"engine": engine}))
        self._facts = None
        return self.survey()

    def _chosen(self, survey: Survey) -> Chosen:
        """The playbook with what it leaves open, as this host asks for it."""
        asked, host = self.job.playbook, self.job.host.name
        if not asked.choose:
            return Chosen(asked, ())
        if self.job.published is None and asked.source is None and asked.model.repository:
            self._require_files(survey)
        profile = profile_of(survey, data_folders("profiles"))
        chosen = choose(host, asked, self.job.published, survey, self.job.wishes, profile)
        return replace(chosen, choices=(*self._brought, *chosen.choices))

    def _require_files(self, survey: Survey) -> None:
        """Raise where neither the Hub nor the host says what a model is; tell once that the host does."""
        unread = self.job.unread
        if unread is not None and CONFIG not in survey.checkpoint.configs:
            raise unread
        self.require_config(survey)
        if unread is not None:
            words = f"{unread.message}; what lies on {self.job.host.name} is gone by instead"
            self.job.report.emit("warning", words)
            self.job = replace(self.job, unread=None)

    @contextmanager
    def located(self, survey: Survey) -> Iterator[None]:
        """Planning is pure: what it says of a config file in which no edit can be planned lacks the place."""
        try:
            yield
        except CheckpointError as error:
            where = f"{self.job.host.name}: in {survey.checkpoint.folder} {error.message}"
            look = f"less {shlex.quote(survey.checkpoint.folder)}/*config.json  # on {self.job.host.name}"
            following = error.next_command or (None if "argument" in error.known else look)
            raise CheckpointError(error.code, where, next_command=following, **error.known) from error
