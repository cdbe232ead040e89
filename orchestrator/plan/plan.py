"""What would be launched on this host, and why so? Pure: facts, playbook, patches in, a plan out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from orchestrator.base.errors import DeployError
from orchestrator.engines import sizing
from orchestrator.engines.command_line import arguments_of
from orchestrator.engines.consents import TRUST
from orchestrator.engines.options import Options
from orchestrator.on_host.kinds import registry
from orchestrator.patches.known import Known
from orchestrator.patches.patch import Patch
from orchestrator.plan import code, outlook, preflight, resolve
from orchestrator.plan.change import Change, Why, work_out
from orchestrator.plan.gpu_room import Shortage
from orchestrator.plan.known import of_host, of_launch
from orchestrator.plan.predict import may_be, predicted
from orchestrator.playbook.playbook import Playbook
from orchestrator.programs.journal import ConsentRecord
from orchestrator.survey.survey import Survey

Goal = Literal["up", "remediate", "restart", "patch", "fetch"]
"""What is planned for: only `up` and `fetch` download, only `restart` stops what serves, `patch` starts nothing, `fetch`
ends with the checkpoint."""


@dataclass(frozen=True)
class Wishes:
    """What the person asked for beside the playbook.

    `forced` and `forbidden` are patch ids; `predict` False applies nothing before a failure was seen;
    `engine_version` is taken instead of what the host says. `yes` gives every consent that the playbook and the options
    ask for, none that only a remedy needs. `other_folder` tells that an option named the checkpoint's folder.
    """

    patches: tuple[Patch, ...] = ()
    forced: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    predict: bool = True
    consents: tuple[str, ...] = ()
    engine_version: str | None = None
    yes: bool = False
    other_folder: bool = False

    @property
    def allowed(self) -> tuple[Patch, ...]:
        return tuple(patch for patch in self.patches if patch.id not in self.forbidden)

    def version(self, survey: Survey) -> str | None:
        """The engine's: the one that is wished for, else the host's."""
        return self.engine_version or (survey.engine.version if survey.engine else None)


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
    warnings: tuple[str, ...]
    lacking: Mapping[str, str]
    """The consents that are missing, each with what asks for it."""
    trusted: ConsentRecord | None
    """What goes on record once the checkpoint's code is run: None where it does already, or none is run."""
    refusals: tuple[DeployError, ...]
    launch_kind: str = registry.USUAL.name
    """How the engine is started and held (`on_host/kinds/`)."""

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
    def beside_log(self) -> Known:
        """What its log is read with: that the engine took the checkpoint as it was foreseen, the log has to say."""
        return replace(of_host(self.playbook, self.survey, self.version), arguments=self.options.texts)

    def as_json(self) -> dict[str, Any]:
        """What is known of it before anything is done; `steps/course.py` adds what will be done."""
        guesses = [change for change in (*self.changes, *self.skipped) if change.why != "again"]
        return {
            "host": self.host,
            "playbook": self.playbook.name,
            "name": self.playbook.instance,
            "engine": {
                "kind": self.playbook.engine.kind,
                "version": self.version,
                "python": self.options.python,
            },
            "fit": {
                "verdict": self.fit.verdict,
                "reason": self.fit.reason,
                "max_model_len": self.fit.longest_context,
                "weights_gib_per_gpu": _rounded(self.fit.weights_gib_per_gpu),
                "kv_bytes_per_token": self.fit.kv_bytes_per_token,
            },
            "command": list(self.options.argv),
            "options": [
                {"name": name, "value": option.value, "origin": option.origin}
                for name, option in self.options.given.items()
            ],
            "environment": [
                {
                    "name": variable.name,
                    "value": variable.shown,
                    "reason": variable.reason,
                    "origin": variable.origin,
                }
                for variable in self.options.environment
            ],
            "predictions": [
                {
                    "patch": change.patch.id,
                    "certainty": change.why,
                    "evidence": change.evidence,
                    "action": f"skipped: {change.action}" if change in self.skipped else change.action,
                }
                for change in guesses
            ],
            "patches": [
                {"patch": change.patch.id, "file": name, "diff": diff}
                for change in self.changes
                for name, diff in change.file_diffs.items()
            ],
            "warnings": list(self.warnings),
            "refusals": [{"code": refusal.code, "message": refusal.message} for refusal in self.refusals],
            "missing_consents": list(self.missing_consents),
        }


def make_plan(host: str, playbook: Playbook, survey: Survey, wishes: Wishes, *, goal: Goal = "up") -> Plan:
    """Plan what a verb would do on the host as the survey found it."""
    version = wishes.version(survey)
    standing = resolve.standing(playbook, survey)
    wanted, skipped = _changes(playbook, survey, wishes, version, standing)
    changes, options, fit = outlook.with_consequences(playbook, survey, version, wanted, standing)
    withheld: tuple[str, ...] = ()
    token_consent = "token-to-endpoint" in (*playbook.consents, *wishes.consents)
    if not token_consent:
        options, withheld = resolve.without_token(options, survey.hf_endpoint)
    consents = options.consents()
    warnings = (
        *preflight.warnings(survey, version, options),
        *(
            f"a record of the journal is passed over: {why}"
            for why in resolve.overruled(playbook, survey).values()
        ),
    )
    if withheld:
        unsent = f"{', '.join(withheld)} is not given to the engine, whose HF_ENDPOINT is not https://huggingface.co"
        warnings = (*warnings, f"{unsent}: --consent token-to-endpoint gives it")
    if fit.verdict in ("borderline", "does_not_fit"):
        warnings = (fit.reason, *warnings)
    refusals = preflight.refusals(host, playbook, survey, version)
    short = _shortage(playbook, survey, version, options, goal)
    # what a launch of ours that just died held may be on its way back
    returning = short is not None and not short.holders and not survey.history.cleaned
    if short is not None and (short.little or returning or options.sizes_its_cache):
        warnings = (*warnings, f"{short.sentence}. {short.advice}")
    elif short is not None:
        refusals = (*refusals, preflight.gpu_busy(host, short))
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
        warnings=warnings,
        lacking=_lacking(playbook, wishes, survey, changes, options, consents),
        trusted=code.record(playbook, survey) if TRUST in consents else None,
        refusals=refusals,
    )


def _shortage(
    playbook: Playbook,
    survey: Survey,
    version: str | None,
    options: Options,
    goal: Goal,
) -> Shortage | None:
    """What is short on the cards now; a launch that lives is only followed, and old facts say nothing of now."""
    if not survey.fresh or (survey.observed.alive and goal != "restart"):
        return None
    return outlook.gpu_shortage(playbook, survey, version, options)


def differences(plan: Plan, patches: Sequence[Patch]) -> tuple[Change, ...]:
    """Every change that applies: planned, asked for by the last failure, and, only to be shown, what patches could
    change where their window cannot be judged (no GPU or no engine to ask)."""
    outcome = plan.survey.history.outcome
    known = plan.known
    planned = {change.patch.id for change in plan.changes}
    changes = {change.patch.id: change for change in (*plan.changes, *plan.skipped)}
    for patch in patches:
        if outcome is not None and outcome.finding == patch.id and patch.id not in planned:
            changes[patch.id] = _change(plan, patch, "finding", outcome.cause)
        elif patch.window is not None and may_be(patch.window, known):
            changes.setdefault(patch.id, _change(plan, patch, "possible", "its window is not known here"))
    return tuple(change for change in changes.values() if change.changes_something)


def differing(plan: Plan, command: Mapping[str, Any] | None) -> tuple[str, ...]:
    """How the command of a running launch differs from what would be started now, an option each."""
    then, now = arguments_of(tuple((command or {}).get("argv") or ())), plan.options.texts
    if not then:
        return ()
    names = [name for name in {**then, **now} if then.get(name) != now.get(name)]
    shown = [(name.replace("_", "-"), then.get(name, "not set"), now.get(name, "not set")) for name in names]
    return tuple(f"--{name} is {before}, asked is {after}" for name, before, after in shown)


def _change(plan: Plan, patch: Patch, why: Why, evidence: str) -> Change:
    configs = plan.survey.checkpoint.configs
    return work_out(patch, why=why, evidence=evidence, known=plan.known, configs=configs)


def _changes(
    playbook: Playbook, survey: Survey, wishes: Wishes, version: str | None, options: Options
) -> tuple[tuple[Change, ...], tuple[Change, ...]]:
    """What is to be applied before the launch, and what was predicted but is not wished for."""
    configs = survey.checkpoint.configs
    known = of_launch(playbook, survey, version, options)
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


def _lacking(
    playbook: Playbook,
    wishes: Wishes,
    survey: Survey,
    changes: Sequence[Change],
    options: Options,
    needed: Mapping[str, str],
) -> dict[str, str]:
    """The consents without which this may not be started, each with what asks for it."""
    wanted = dict(needed)
    for change in changes:
        wanted.update({consent: change.patch.id for consent in change.consents if consent not in wanted})
    checkpoint = survey.checkpoint
    if checkpoint.exists and not checkpoint.owned_by_us and any(change.edits for change in changes):
        wanted["foreign-folder"] = f"{checkpoint.folder} belongs to uid {checkpoint.owner_uid}"
    lacking = {
        consent: why
        for consent, why in wanted.items()
        if consent not in (*playbook.consents, *wishes.consents)
    }
    if TRUST in needed and TRUST in playbook.consents and TRUST not in wishes.consents:
        strange = code.strangeness(playbook, survey, options, other_folder=wishes.other_folder)
        lacking.update({TRUST: strange} if strange else {})
    waived = _of_the_playbook(playbook, survey) if wishes.yes else {}
    return {consent: why for consent, why in lacking.items() if consent not in waived}


def _of_the_playbook(playbook: Playbook, survey: Survey) -> dict[str, str]:
    """The consents that would be needed without any remedy."""
    return resolve.requested(
        playbook, python=playbook.engine.python, folder=survey.checkpoint.folder
    ).consents()


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 2)
