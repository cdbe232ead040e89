"""What does a patch change here: which bytes of which file, which options, which variables?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from orchestrator.checkpoint.kv_quantisation import KVEdits, plan_edits, unified_diff
from orchestrator.diagnosis.engine import ProposedAction, proposed
from orchestrator.diagnosis.startup import arguments_of
from orchestrator.remedy.patch import Patch

Why = Literal["certain", "forced", "finding", "again", "possible"]


@dataclass(frozen=True)
class Change:
    """A patch worked out for one checkpoint and one command.

    `why`: "certain" is a prediction, "forced" was asked for by name, "finding" answers a failure, "again" puts a
    patch in force back on a file that was restored, "possible" is only shown. An option or variable
    whose value is None is taken away.
    """

    patch: Patch
    why: Why
    evidence: str
    edits: KVEdits | None = None
    flags: Mapping[str, str | None] = field(default_factory=dict)
    environment: Mapping[str, str | None] = field(default_factory=dict)
    consents: tuple[str, ...] = ()

    @property
    def changes_something(self) -> bool:
        return bool((self.edits and self.edits.edits) or self.flags or self.environment)

    @property
    def diff(self) -> str:
        return unified_diff(self.edits) if self.edits else ""

    @property
    def file_diffs(self) -> dict[str, str]:
        """The unified diff of each edited file."""
        if not self.edits:
            return {}
        before, after = self.edits.before, self.edits.after
        return {name: unified_diff(KVEdits((), {name: before[name]}, {name: after[name]})) for name in after}

    @property
    def action(self) -> str:
        """What it does, in one line."""
        files = sorted(self.edits.after) if self.edits else []
        done = [f"edit {', '.join(files)}"] if files else []
        for name, value in (*self.flags.items(), *self.environment.items()):
            done.append(f"drop {name}" if value is None else f"set {name} to {value}")
        return "; ".join(done) or "nothing to change"


def work_out(
    patch: Patch, *, why: Why, evidence: str, argv: Sequence[str], configs: Mapping[str, bytes]
) -> Change:
    """Work a patch out that no failure asked for."""
    return _change(patch, why, evidence, proposed(patch, arguments_of(tuple(argv)), {}), configs)


def answering(
    actions: Sequence[ProposedAction], patch: Patch, *, cause: str, configs: Mapping[str, bytes]
) -> Change:
    """Work out what a diagnosis proposed."""
    return _change(patch, "finding", cause, actions, configs)


def _change(
    patch: Patch, why: Why, evidence: str, actions: Sequence[ProposedAction], configs: Mapping[str, bytes]
) -> Change:
    """Raises CheckpointError("config_shape" or "config_broken") where a file cannot be edited safely."""
    edits = None
    settings: dict[str, dict[str, str | None]] = {"flag": {}, "env": {}}
    for action in actions:
        if action.kind == "config" and "config.json" in configs:
            edits = plan_edits(configs)
        elif action.kind in settings and action.name:
            settings[action.kind][action.name] = str(action.value) if action.op == "set" else None
    consents = tuple(dict.fromkeys(action.consent for action in patch.remedy if action.consent))
    return Change(patch, why, evidence, edits, settings["flag"], settings["env"], consents)
