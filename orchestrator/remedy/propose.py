"""What does a remedy come to for one failure: which actions, with which values?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from orchestrator.diagnosis.verdict import ProposedAction, Way
from orchestrator.remedy import formula
from orchestrator.remedy.action import EDITS, TEMPLATE, Action, When
from orchestrator.remedy.action import Way as WayOfPatch
from orchestrator.remedy.patch import Patch
from orchestrator.remedy.wanted import launch_fits


@dataclass(frozen=True)
class Circumstances:
    """What is known of a launch besides its failure: None where nobody said.

    `engine` is the configuration that the engine printed, `arguments` its command line (names with underscores),
    `groups` what a pattern read out of the failure.
    """

    vllm_version: str | None = None
    compute_cap: str | None = None
    gpus: int | None = None
    engine: Mapping[str, str] = field(default_factory=dict)
    arguments: Mapping[str, str] | None = None
    groups: Mapping[str, str] = field(default_factory=dict)

    def number(self, name: str) -> float | None:
        """A number by its name: of the failure, else of the command line, else of the engine's configuration."""
        if name == "gpus" and name not in self.groups:
            return self.gpus
        for source in (self.groups, self.arguments or {}, self.engine):
            if source.get(name):
                return formula.number(source[name])
        return None

    def allow(self, when: When) -> bool:
        """Whether all of it is known to hold."""
        return launch_fits(when, self) and (
            when.holds is None or bool(formula.evaluate(when.holds, self.number))
        )


def ways(patch: Patch, circumstances: Circumstances) -> tuple[Way, ...]:
    """The alternatives that may be taken, mildest first; one whose values cannot be worked out is left out."""
    worked = (_way(way, circumstances) for way in patch.ways if _may(way, circumstances))
    return tuple(way for way in worked if way is not None and way.actions)


def _may(thing: WayOfPatch | Action, circumstances: Circumstances) -> bool:
    return (thing.when is None or circumstances.allow(thing.when)) and not (
        thing.unless and circumstances.allow(thing.unless)
    )


def _way(way: WayOfPatch, circumstances: Circumstances) -> Way | None:
    chosen = [action for action in way.do if _may(action, circumstances)]
    done = [_actions(action, circumstances) for action in chosen]
    if any(actions is None for actions in done):
        return None
    return Way(
        actions=tuple(action for actions in done for action in actions or ()),
        cost=way.cost,
        consents=tuple(dict.fromkeys(action.consent for action in chosen if action.consent)),
        conflicts=dict(way.conflicts),
    )


def _actions(action: Action, circumstances: Circumstances) -> Sequence[ProposedAction] | None:
    """What an action comes to, None where a value of it is not known."""
    if action.kind == "config":
        return [
            ProposedAction(kind="config", edit=action.edit, **edit.model_dump(exclude_unset=True))
            for edit in EDITS[action.edit or ""]
        ]
    fields: dict[str, Any] = {"kind": action.kind, "name": _filled(action.name or "", circumstances.groups)}
    if action.op:
        fields["op"] = action.op
    if action.value is not None:
        fields["value"] = _filled(action.value, circumstances.groups)
    elif action.formula is not None:
        worked = formula.evaluate(action.formula, circumstances.number)
        fields["value"] = None if worked is None else formula.shown(worked)
    if fields["name"] is None or ("value" in fields and fields["value"] is None):
        return None
    return [ProposedAction(**fields)]


def _filled(template: str, groups: Mapping[str, str]) -> str | None:
    """The text with its {groups}; None where one was not read."""
    wanted = TEMPLATE.findall(template)
    if any(not groups.get(name) for name in wanted):
        return None
    return TEMPLATE.sub(lambda found: groups[found[1]], template)
