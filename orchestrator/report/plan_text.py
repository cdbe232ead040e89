"""How does a plan look to a person?"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from orchestrator.base.amounts import decimal
from orchestrator.hosts.quoting import program
from orchestrator.report.layout import plain, wrapped

if TYPE_CHECKING:
    from orchestrator.plan.change import Change
    from orchestrator.plan.plan import Plan
    from orchestrator.plan.sourced import Sourced
    from orchestrator.steps.course import Course

WIDTH = 80


def wrap(head: str, text: str) -> list[str]:
    return [plain(line) for line in wrapped([(head, "")], text, WIDTH)]


def summary(plan: Plan, *, waiting: Collection[Change] = (), source: str = "") -> list[str]:
    """The head of a run: host, engine, fit, environment, predictions, download; each line at most 80 columns.

    `waiting` are those of the plan's changes that are made at the next start only; `source` says from where the checkpoint comes.
    """
    lines = _title(plan)
    lines += wrap("  fit        ", plan.fit.reason)
    for way in plan.fit.ways:
        lines += wrap("  would fit  " if way is plan.fit.ways[0] else " " * 13, way.text)
    for choice in plan.choices:
        if choice.key[0] == "environment":  # told below, as any variable is
            continue
        value = "left out" if choice.value is None else choice.value
        label = "gamble" if choice.gamble else "chosen"
        lines += wrap(f"  {label:<11}", f"{choice.name}: {value}   {choice.reason}")
    if plan.defaults:
        lines += wrap("  defaults   ", "; ".join(default.sentence for default in plan.defaults))
    for note in plan.options.adaptations:
        lines += wrap("  renamed    " if note.instead else "  left out   ", note.sentence)
    for addition in plan.options.additions:
        lines += wrap("  added      ", f"{addition.option}   {addition.reason}")
    lines += _environment(plan.environment)
    if plan.measured is not None:
        lines += wrap("  measured   ", f"{str(plan.measured.at)[:10]}, {plan.measured.sentence}")
    for change in plan.changes:
        label = "  next start " if change in waiting else "  patch      "
        lines += wrap(label, f"{change.patch.id}, {change.why} ({change.evidence}): {change.action}")
    for change in plan.skipped:
        lines += wrap("  predict    ", f"{change.patch.id}, {change.why}: skipped (--no-predict)")
    for prediction in plan.predictions:
        if not prediction.forbids:
            words = f"{prediction.patch.id} ({prediction.evidence}): {prediction.action}"
            lines += wrap(f"  {prediction.certainty:<11}", words)
    lines += wrap("  download   ", _download(plan, source))
    if plan.survey.unasked:
        lines += wrap("  not known  ", f"{', '.join(plan.survey.unasked)}: no host was asked")
    return [*lines, ""]


def _environment(variables: Sequence[Sourced]) -> list[str]:
    """A line for each, those of NCCL together; below them how one is left out that a file or we set."""
    ours = [item for item in variables if item.variable.name.startswith("NCCL_")]
    lines = [line for item in ours for line in _variable("nccl", item)]
    removable = [item.variable.name for item in ours if item.leave_out]
    if removable:
        name, which = (removable[0], "it") if len(removable) == 1 else ("NAME", "one")
        lines += wrap(" " * 13, f"--set environment.{name}=null leaves {which} out")
    return lines + [line for item in variables if item not in ours for line in _variable("env", item)]


def _variable(label: str, item: Sourced) -> list[str]:
    return wrap(f"  {label:<11}", f"{item.variable.name}={item.variable.shown}   {item.sentence}")


def machine(plan: Plan) -> str:
    """Its cards and its engine."""
    return ", ".join(_machine(plan))


def _machine(plan: Plan) -> tuple[str, str]:
    cards = plan.survey.facts.cards
    name = cards[0].name.removeprefix("NVIDIA ") if cards else ""
    gpus = f"{len(cards)}x {name} (cc {plan.compute_cap})" if cards else "no GPU"
    none = "of a version that is not known" if plan.survey.unasked else ""
    engine = " ".join(filter(None, (plan.playbook.engine.kind, plan.version or none)))
    if not plan.version and not none:
        engine = "no engine"
    return gpus, engine


def _title(plan: Plan) -> list[str]:
    gpus, engine = _machine(plan)
    title = plan.playbook.instance if plan.survey.supposed else f"{plan.playbook.instance} on {plan.host}"
    whole = f"{title}   {gpus}   {engine}"
    return [whole] if len(whole) <= WIDTH else [title, *wrap("  with       ", f"{gpus}, {engine}")]


def _download(plan: Plan, source: str) -> str:
    """What is there of the checkpoint, and how much room there is for the rest."""
    checkpoint, figures = plan.survey.checkpoint, plan.playbook.figures
    size = checkpoint.weights_bytes or figures.weights_bytes
    count = checkpoint.shards or figures.shards
    shards = f"{count} shards" if count else "the checkpoint"
    amount = f", {decimal(size)}" if size else ""
    if checkpoint.missing == 0 or plan.playbook.model.repository is None:
        return f"nothing: {shards}{amount} in {checkpoint.folder}"
    part = f"{checkpoint.missing} of " if checkpoint.missing and count else ""
    free = "" if checkpoint.free_bytes is None else f"; {decimal(checkpoint.free_bytes)} free"
    return f"{part}{shards}{amount}{', ' if source else ''}{source}{free}"


def serving(standing: Mapping[str, Any]) -> list[str]:
    """That nothing would be started, told before all that is about a start."""
    differs = standing["differs"]
    words = f"but {'; '.join(differs)}" if differs else "as asked: nothing to do"
    return wrap("  now        ", f"launch {standing['launch']} serves, {words}")


def whole(course: Course) -> list[str]:
    """Everything that `deploy plan` says."""
    plan = course.plan
    lines = [*summary(plan, waiting=course.waiting)]
    if course.serving:
        lines[1:1] = serving(course.serving.standing)
    lines.append("steps")
    for step in course.steps:
        for words in step.as_json()["effects"]:
            lines += wrap(f"  {step.name:<10} ", words)
    for change in plan.changes:
        if change.diff and change not in course.waiting:
            lines += ["", *change.diff.splitlines()]
    lines += ["", "command" if course.starts else "command of the next start"]
    lines += command(plan)
    if course.lacking or course.refusals:
        lines.append("")
    for consent, why in course.lacking.items():
        lines += wrap("consent    ", f"{consent} is missing ({why}): --consent {consent}")
    for refusal in course.refusals:
        lines += wrap("refused    ", f"{refusal.message}  [{refusal.code}]")
    return lines


def command(plan: Plan) -> list[str]:
    """Variables and command, one option with its value a line, so that it can be read and pasted."""
    variables = [f"{variable.name}={shlex.quote(variable.shown)}" for variable in plan.options.environment]
    lines: list[str] = []
    for item in plan.options.argv:
        # a leading ~ of these two is the home folder there
        quoted = program([item]) if not lines or item == plan.folder else shlex.quote(item)
        if item.startswith("--") or not lines:
            lines.append(f"  {quoted}")
        else:
            lines[-1] += f" {quoted}"
    return [*(f"  {item} \\" for item in variables), *(f"{line} \\" for line in lines[:-1]), *lines[-1:]]
