"""In what do a checkpoint and a running launch differ from what would be launched now?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from orchestrator.engines.command_line import arguments_of
from orchestrator.on_host.kinds.kind import HERE
from orchestrator.patches.patch import Patch
from orchestrator.plan.change import Change, Why, work_out
from orchestrator.plan.plan import Plan
from orchestrator.plan.windows import may_be


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
        elif any(may_be(window, known) for window in patch.window if window.certainty == "certain"):
            changes.setdefault(patch.id, _change(plan, patch, "possible", "its window is not known here"))
    return tuple(change for change in changes.values() if change.changes_something)


def differing(plan: Plan, command: Mapping[str, Any] | None) -> tuple[str, ...]:
    """How the command of a running launch differs from what would be started now, an option each."""
    then, now = (arguments_of(tuple(argv)) for argv in ((command or {}).get("argv") or (), plan.options.argv))
    if not then:
        return ()
    # what nobody asked for, an earlier release of this tool may not have added
    names = [
        name
        for name in {**then, **now}
        if then.get(name) != now.get(name) and HERE not in (then.get(name), now.get(name))
    ]
    shown = [(name.replace("_", "-"), then.get(name, "not set"), now.get(name, "not set")) for name in names]
    return tuple(f"--{name} is {before}, asked is {after}" for name, before, after in shown)


def _change(plan: Plan, patch: Patch, why: Why, evidence: str) -> Change:
    configs = plan.survey.checkpoint.configs
    return work_out(patch, why=why, evidence=evidence, known=plan.known, configs=configs)
