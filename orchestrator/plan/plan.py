"""What would be launched on this host, and why so? Pure: facts, playbook, patches in, a plan out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from orchestrator.base.errors import DeployError
from orchestrator.engines import sizing
from orchestrator.engines.consents import TRUST
from orchestrator.engines.options import Default, Options
from orchestrator.on_host.kinds import registry
from orchestrator.patches.known import Known
from orchestrator.plan import (
    beside,
    by_name,
    caveats,
    code,
    collective,
    disk_room,
    missing,
    nccl,
    outlook,
    preflight,
    resolve,
    weights,
)
from orchestrator.plan.change import Change, work_out
from orchestrator.plan.gpu_room import Shortage
from orchestrator.plan.installing import expected, installed_first
from orchestrator.plan.known import of_host, of_launch
from orchestrator.plan.nccl import Confirmation
from orchestrator.plan.predict import may_fail, predicted
from orchestrator.plan.prediction import Prediction, predictions
from orchestrator.plan.retired import Retired, retired
from orchestrator.plan.sourced import Sourced
from orchestrator.plan.wishes import Goal, Wishes
from orchestrator.playbook.choice import Choice
from orchestrator.playbook.pinned import PinnedEngine
from orchestrator.playbook.playbook import Playbook
from orchestrator.programs.journal import CollectiveRecord, ConsentRecord
from orchestrator.survey.survey import Survey


@dataclass(frozen=True)
class Plan:
    """Every effect of a deployment, with reasons; `refusals` say why it may not start.

    `changes` are applied before the launch, `skipped` were predicted but are not wished for.
    """

    host: str
    playbook: Playbook
    survey: Survey
    version: str | None
    fit: sizing.Fit
    options: Options
    token_consent: bool
    """Whether the Hub's token may go wherever HF_ENDPOINT leads."""
    changes: tuple[Change, ...]
    skipped: tuple[Change, ...]
    predictions: tuple[Prediction, ...]
    """The failures that are foreseen and that no change mends."""
    retired: tuple[Retired, ...]
    """Patches in the checkpoint's files that this release is not known to need."""
    by_name: tuple[str, ...]
    """What is to be known of patches that are asked for by name."""
    caveats: tuple[str, ...]
    """What may spoil the launch."""
    lacking: Mapping[str, str]
    """The consents that are missing, each with what asks for it."""
    trusted: ConsentRecord | None
    """What goes on record once the checkpoint's code is run: None where it does already, or none is run."""
    refusals: tuple[DeployError, ...]
    confirmations: Mapping[str, Confirmation] = field(default_factory=dict)
    """What the host's facts say of variables that somebody set, by name."""
    measured: CollectiveRecord | None = None
    """What collectives of the launch's GPUs came to with these variables of NCCL; None where that was not measured since the
    cards and their driver are what they are."""
    choices: tuple[Choice, ...] = ()
    """What was chosen for a model without a playbook, and why."""
    installs: PinnedEngine | None = None
    """The engine that is installed before anything is launched: `version` is its own then."""
    launch_kind: str = registry.USUAL.name
    """How the engine is started and held (`on_host/kinds/`)."""

    @property
    def warnings(self) -> tuple[str, ...]:
        return (*self.caveats, *self.by_name, *(each.sentence for each in self.retired))

    @property
    def environment(self) -> tuple[Sourced, ...]:
        """The variables, each with where its value comes from."""
        return tuple(
            Sourced(variable, self.confirmations.get(variable.name)) for variable in self.options.environment
        )

    @property
    def defaults(self) -> tuple[Default, ...]:
        """What this version takes for options that are not given, where earlier ones took something else."""
        cards = self.survey.facts.cards
        if self.version is None or not cards:
            return ()
        return self.options.moved_defaults(self.version, self.fit.memory_gib, cards[0].name)

    @property
    def missing_consents(self) -> tuple[str, ...]:
        return tuple(self.lacking)

    @property
    def folder(self) -> str:
        return self.survey.checkpoint.folder

    @property
    def compute_cap(self) -> str | None:
        return self.survey.facts.compute_cap

    @property
    def known(self) -> Known:
        """What is known of the launch before it is one."""
        return of_launch(self.playbook, self.survey, self.version, self.options)

    @property
    def gpu_at_most_mib(self) -> dict[str, int]:
        """MiB by uuid that may be in use on each of its cards before it is started."""
        return beside.gpu_at_most(self.playbook, self.survey, self.version, self.options)

    @property
    def beside_log(self) -> Known:
        """What its log is read with: that the engine took the checkpoint as it was foreseen, the log has to say."""
        return replace(of_host(self.playbook, self.survey, self.version), arguments=self.options.texts)

    def as_json(self) -> dict[str, Any]:
        """What is known of it before anything is done; `steps/course.py` adds what will be done."""
        guesses = [change for change in (*self.changes, *self.skipped) if change.why != "again"]
        return {
            "host": None if self.survey.supposed else self.host,
            "playbook": self.playbook.name,
            "name": self.playbook.instance,
            "engine": {
                "kind": self.playbook.engine.kind,
                "version": self.version,
                "python": self.options.python,
            },
            "fit": self.fit.as_json(),
            "choices": [choice.as_json() for choice in self.choices],
            "command": list(self.options.argv),
            "options": [
                {"name": name, "value": option.value, "origin": option.origin}
                for name, option in self.options.given.items()
            ],
            "defaults": [default.as_json() for default in self.defaults],
            "adaptations": [adaptation.as_json() for adaptation in self.options.adaptations],
            "additions": [addition.as_json() for addition in self.options.additions],
            "environment": [variable.as_json() for variable in self.environment],
            "collective": None if self.measured is None else self.measured.as_json(),
            "predictions": [
                {
                    "patch": change.patch.id,
                    "certainty": change.why,
                    "evidence": change.evidence,
                    "action": f"skipped: {change.action}" if change in self.skipped else change.action,
                }
                for change in guesses
            ]
            + [prediction.as_json() for prediction in self.predictions],
            "patches": [
                {"patch": change.patch.id, "file": name, "diff": diff}
                for change in self.changes
                for name, diff in change.file_diffs.items()
            ],
            "retired": [each.as_json() for each in self.retired],
            "not_known": list(self.survey.unasked),
            "warnings": list(self.warnings),
            "refusals": [{"code": refusal.code, "message": refusal.message} for refusal in self.refusals],
            "missing_consents": list(self.missing_consents),
        }


def make_plan(
    host: str,
    playbook: Playbook,
    survey: Survey,
    wishes: Wishes,
    *,
    goal: Goal = "up",
    choices: tuple[Choice, ...] = (),
) -> Plan:
    """Plan what a verb would do on the host as the survey found it."""
    installs = installed_first(playbook, survey)
    version = wishes.version(survey) or expected(playbook, survey)
    standing = resolve.standing(playbook, survey, version)
    known = of_launch(playbook, survey, version, standing)
    wanted, skipped = _changes(survey, wishes, known, standing)
    fp8_fails = may_fail(standing.kv_dtype_setting, "fp8", wishes.patches, known)
    changes, options, fit = outlook.with_consequences(
        playbook, survey, version, wanted, standing, fp8_fails=fp8_fails
    )
    if version:  # what the changes set, too
        options = options.for_version(version).leaving_stacks(version)
    short = _shortage(playbook, survey, version, options, changes, goal)
    forbids = short is not None and _forbids(short, survey, options)
    shared = short if forbids and beside.shares(short, (*playbook.consents, *wishes.consents)) else None
    if shared is not None:
        options, short = beside.sharing(options, shared), None
        fit = outlook.fit(playbook, survey, version, options, changes, fp8_fails=fp8_fails)
    withheld: tuple[str, ...] = ()
    token_consent = "token-to-endpoint" in (*playbook.consents, *wishes.consents)
    if not token_consent:
        options, withheld = resolve.without_token(options, survey.hf_endpoint)
    links = nccl.links(survey, version, options)
    options = nccl.tuned(options, playbook, links)
    foreseen = _predictions(playbook, survey, wishes, version, options, changes, goal)
    taken = [card for card in survey.facts.cards if card.index in nccl.taken(survey, version, options)]
    full = disk_room.disk_full(host, survey) if goal == "up" else None
    too_large = weights.too_large(host, playbook, survey, version, options, fit)
    return Plan(
        host=host,
        playbook=playbook,
        survey=survey,
        version=version,
        fit=fit,
        options=options,
        token_consent=token_consent,
        changes=changes,
        skipped=skipped,
        predictions=foreseen,
        retired=_retired(playbook, survey, wishes, version),
        by_name=by_name.remarks(wishes, known, playbook.kind, {change.patch.id for change in wanted}),
        caveats=(
            *([fit.reason] if fit.verdict in ("borderline", "does_not_fit") else []),
            *caveats.warnings(survey, version, options),
            *caveats.passed_over(resolve.overruled(playbook, survey).values()),
            *caveats.token_withheld(withheld),
            *([doubt] if (doubt := disk_room.doubt(playbook, survey)) and goal == "up" else []),
            *([f"{short.sentence}. {short.advice}"] if short is not None and not forbids else []),
            *([shared.shared] if shared is not None else []),
        ),
        lacking=missing.consents(playbook, survey, wishes, changes, options, installs),
        trusted=code.record(playbook, survey) if TRUST in options.consents() else None,
        confirmations=nccl.confirmations(options.environment, links),
        measured=collective.holding(survey.history.measured, taken, nccl.variables(options)),
        choices=choices,
        refusals=(
            *preflight.refusals(host, playbook, survey, version),
            *(each.refusal(host) for each in foreseen if each.forbids),
            *preflight.options_refused(host, playbook, options, version, fit),
            *(preflight.ray_missing(host, survey, options) if installs is None else ()),
            *preflight.architecture_refused(host, playbook, survey, known, options),
            *([full] if full is not None else []),
            *([too_large] if too_large is not None else []),
            *([preflight.gpu_busy(host, short)] if short is not None and forbids else []),
        ),
        installs=installs,
    )


def _predictions(
    playbook: Playbook,
    survey: Survey,
    wishes: Wishes,
    version: str | None,
    options: Options,
    changes: Sequence[Change],
    goal: Goal,
) -> tuple[Prediction, ...]:
    """The failures that are foreseen of what would be launched; one that lives is only followed."""
    if not wishes.predict or (survey.observed.alive and goal != "restart"):
        return ()
    known = of_launch(playbook, survey, version, options)
    in_force = {applied.patch for applied in survey.history.applied}
    answered = {*wishes.forced, *in_force, *(change.patch.id for change in changes)}
    return tuple(predictions(wishes.allowed, known, options.engine, answered=answered))


def _retired(playbook: Playbook, survey: Survey, wishes: Wishes, version: str | None) -> tuple[Retired, ...]:
    if not survey.history.applied:
        return ()
    python, folder = playbook.engine.interpreter, survey.checkpoint.folder
    asked = of_launch(playbook, survey, version, resolve.requested(playbook, python=python, folder=folder))
    return tuple(retired(survey.history, wishes.patches, asked, playbook.kind.title))


def _shortage(
    playbook: Playbook,
    survey: Survey,
    version: str | None,
    options: Options,
    changes: Sequence[Change],
    goal: Goal,
) -> Shortage | None:
    """What is short on the cards now; a launch that lives is only followed, and old facts say nothing of now."""
    if not survey.fresh or (survey.observed.alive and goal != "restart"):
        return None
    return beside.gpu_shortage(playbook, survey, version, options, changes)


def _forbids(short: Shortage, survey: Survey, options: Options) -> bool:
    """Whether the engine would refuse for certain: what a launch of ours that just died held may be on its way back."""
    returning = not short.holders and not survey.history.cleaned
    return not (short.little or returning or options.sizes_its_cache)


def _changes(
    survey: Survey, wishes: Wishes, known: Known, options: Options
) -> tuple[tuple[Change, ...], tuple[Change, ...]]:
    """What is to be applied before the launch, and what was predicted but is not wished for."""
    configs = survey.checkpoint.configs
    in_force = {applied.patch: applied.way for applied in survey.history.applied if applied.files}
    chosen: dict[str, Change] = {}
    for patch in wishes.allowed:
        if patch.id in wishes.forced:
            chosen[patch.id] = work_out(
                patch, why="forced", evidence="asked for by name", known=known, configs=configs
            )
        elif patch.id in in_force:  # a download may have restored upstream's file
            chosen[patch.id] = work_out(
                patch,
                why="again",
                evidence="in force since an earlier launch",
                known=known,
                configs=configs,
                taken=in_force[patch.id],
            )
    beside = (*chosen, *(applied.patch for applied in survey.history.applied))
    others = [patch for patch in wishes.allowed if patch.id not in chosen]
    guesses = predicted(others, known, options, configs, in_force=beside)
    changes = tuple(change for change in chosen.values() if change.changes_something)
    return ((*changes, *guesses), ()) if wishes.predict else (changes, guesses)
