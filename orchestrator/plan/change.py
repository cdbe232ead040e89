"""What does a patch change here: which bytes of which file, which options, which variables?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from orchestrator.checkpoint.edits import Edit, Edits, carry_out, unified_diff
from orchestrator.on_host.checkpoint.configs import CONFIG
from orchestrator.patches import propose
from orchestrator.patches.known import Known
from orchestrator.patches.patch import Patch
from orchestrator.patches.proposal import ProposedAction, ProposedWay

Why = Literal["certain", "forced", "finding", "again", "possible"]


@dataclass(frozen=True)
class Change:
    """A patch worked out for one checkpoint and one launch.

    `why`: "certain" is a prediction, "forced" was asked for by name, "finding" answers a failure, "again" puts a
    patch in force back on a file that was restored, "possible" is only shown. An option or variable
    whose value is None is taken away.
    """

    patch: Patch
    why: Why
    evidence: str
    edits: Edits | None = None
    pending: tuple[Edit, ...] = ()
    """Edits in the common form, where the files are not there: they are worked out when they are."""
    flags: Mapping[str, str | None] = field(default_factory=dict)
    environment: Mapping[str, str | None] = field(default_factory=dict)
    cleanups: tuple[str, ...] = ()
    redownloads: tuple[str, ...] = ()
    """Files of the checkpoint that are fetched again; "*" stands for those that do not verify."""
    consents: tuple[str, ...] = ()
    cost: str = ""
    way: str = ""
    """What the patch itself asked for, in one line: by this it is known again in the journal."""
    engine: Mapping[str, str] = field(default_factory=dict)
    """What the engine was foreseen to make of the files without it: the settings that its window asks for."""
    number: int | None = None
    """Which of the patch's ways it is."""

    @property
    def changes_something(self) -> bool:
        return self.sets_something or bool(self.cleanups or self.redownloads)

    @property
    def sets_something(self) -> bool:
        """Whether it changes a file or the command, rather than cleaning or fetching once."""
        return bool((self.edits and self.edits.edits) or self.flags or self.environment)

    @property
    def undoing(self) -> str:
        """What `revert` can put back of it: what is removed or ended is gone."""
        once = bool(self.cleanups or self.redownloads)
        if self.sets_something:
            return "settings reversible, what is removed is not" if once else "reversible"
        return "cannot be undone" if once else "changes nothing"

    @property
    def diff(self) -> str:
        return unified_diff(self.edits) if self.edits else ""

    @property
    def file_diffs(self) -> dict[str, str]:
        """The unified diff of each edited file."""
        if not self.edits:
            return {}
        before, after = self.edits.before, self.edits.after
        return {name: unified_diff(Edits((), {name: before[name]}, {name: after[name]})) for name in after}

    @property
    def action(self) -> str:
        """What it does, in one line."""
        files = sorted(self.edits.after) if self.edits else []
        done = [f"edit {', '.join(files)}"] if files else []
        later = sorted({edit.file for edit in self.pending})
        done += [f"edit {' and '.join(later)} where they ask for it, once they are there"] if later else []
        for name, value in (*self.flags.items(), *self.environment.items()):
            done.append(f"drop {name}" if value is None else f"set {name} to {value}")
        done += [f"clean {name.replace('_', ' ')}" for name in self.cleanups]
        done += [f"fetch {'damaged files' if name == '*' else name} again" for name in self.redownloads]
        return "; ".join(done) or "nothing to change"


def work_out(
    patch: Patch,
    *,
    why: Why,
    evidence: str,
    known: Known,
    configs: Mapping[str, bytes],
    taken: str | None = None,
) -> Change:
    """Work a patch out that no failure asked for: its mildest way, or the one that was `taken`, as the journal names it."""
    ways = propose.ways(patch, known) or (ProposedWay(actions=()),)
    changes = [worked_out(way, patch, why=why, evidence=evidence, configs=configs) for way in ways]
    if taken is None:
        return changes[0]
    return next(
        (change for change in changes if change.way == taken),
        next((change for change in changes if change.edits), changes[0]),
    )


def worked_out(
    way: ProposedWay, patch: Patch, *, why: Why, evidence: str, configs: Mapping[str, bytes]
) -> Change:
    """What one way comes to. Raises CheckpointError("config_broken") where a file cannot be edited safely."""
    settings: dict[str, dict[str, str | None]] = {"flag": {}, "env": {}}
    lists: dict[str, list[str]] = {"cleanup": [], "redownload": []}
    for action in way.actions:
        if action.kind in settings and action.name:
            settings[action.kind][action.name] = str(action.value) if action.op == "set" else None
        elif action.kind in lists and action.name:
            lists[action.kind].append(action.name)
    change = Change(
        patch=patch,
        why=why,
        evidence=evidence,
        flags=settings["flag"],
        environment=settings["env"],
        cleanups=tuple(lists["cleanup"]),
        redownloads=tuple(lists["redownload"]),
        consents=way.consents,
        cost=way.cost,
        number=way.number,
    )
    change = with_edits(change, way.actions, configs)
    return replace(change, way=change.action)


def with_edits(change: Change, actions: Iterable[ProposedAction], configs: Mapping[str, bytes]) -> Change:
    """The change with the config edits among these actions; raises as `worked_out` does."""
    edits = tuple(
        Edit(action.file or "", action.path or "", action.op or "set", action.value)
        for action in actions
        if action.kind == "config"
    )
    if CONFIG not in configs:
        return replace(change, pending=edits)
    return replace(change, edits=carry_out(configs, edits) if edits else None)
