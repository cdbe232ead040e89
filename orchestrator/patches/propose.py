"""What does a remedy come to for one failure: which actions, with which values?"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from orchestrator.engines import registry
from orchestrator.patches import config_edits, formula
from orchestrator.patches.action import TEMPLATE, Action, Way
from orchestrator.patches.known import Known
from orchestrator.patches.patch import Patch
from orchestrator.patches.proposal import ProposedAction, ProposedWay

_ENGINE = registry.get(registry.USUAL)
_FROM_A_LOG = {
    "value": re.compile(r"(?!-)[A-Za-z0-9_.,:;=+{}\[\]\"' -]{1,256}"),
    "redownload": re.compile(r"(?!.*\.\.)[A-Za-z0-9_][\w.-]*(?:/[A-Za-z0-9_][\w.-]*)*", re.ASCII),
    "install": re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}(?:\[[A-Za-z0-9,._-]{1,99}\])?"),
}
"""What a text of a log may be where it becomes a value, a file of the checkpoint or a package: anybody who is served
can write into a log, so it never looks like an option or a path elsewhere."""


def ways(patch: Patch, known: Known) -> tuple[ProposedWay, ...]:
    """The alternatives that may be taken, mildest first; one whose values cannot be worked out is left out."""
    numbered = enumerate(patch.ways)
    worked = [_way(way, known, number) for number, way in numbered if known.allow(way)]
    return tuple(way for way in worked if way is not None and way.actions)


def edits_then(patch: Patch, number: int, known: Known) -> tuple[ProposedAction, ...]:
    """The config edits of a way that was chosen, once its options are in: what decided instead of the files may be gone."""
    then = _way(patch.ways[number], known, number)
    return tuple(action for action in then.actions if action.kind == "config") if then is not None else ()


def advice(patch: Patch, known: Known) -> tuple[str, ...]:
    """What a person may do, with the launch's own numbers: `{port}` is that of its command, else the engine's own."""

    def filled(match: re.Match[str]) -> str:
        number = known.number(match[1])
        if number is None and match[1] == "port":
            number = registry.get(known.kind or registry.USUAL).server.port
        return formula.shown(number) if number is not None else match[0]

    return tuple(TEMPLATE.sub(filled, text) for text in patch.advice)


def _way(way: Way, known: Known, number: int) -> ProposedWay | None:
    # where a config edit is made is a circumstance of its own
    chosen = [action for action in way.do if action.kind == "config" or known.allow(action)]
    done = [_actions(action, known) for action in chosen]
    if any(actions is None for actions in done):
        return None
    return ProposedWay(
        actions=tuple(action for actions in done for action in actions or ()),
        cost=way.cost,
        consents=tuple(dict.fromkeys(action.consent for action in chosen if action.consent)),
        conflicts=dict(way.conflicts),
        number=number,
    )


def _actions(action: Action, known: Known) -> Sequence[ProposedAction] | None:
    """What an action comes to, None where a value of it is not known."""
    if action.kind == "config":
        return config_edits.proposed(action, known)
    name = _filled(action.name or "", known.groups)
    if name is None or (name != action.name and not _may_come_from_a_log(action, name, known.arguments)):
        return None
    fields: dict[str, Any] = {"kind": action.kind, "name": name}
    if action.op:
        fields["op"] = action.op
    if action.value is not None:
        value = _filled(action.value, known.groups)
        logged = TEMPLATE.search(action.value) is not None
        fields["value"] = None if logged and not _value_may_come_from_a_log(action, value or "") else value
    elif action.formula is not None:
        worked = formula.evaluate(action.formula, known.number)
        fields["value"] = None if worked is None else formula.shown(worked)
    if "value" in fields and fields["value"] is None:
        return None
    return [ProposedAction(**fields)]


def _value_may_come_from_a_log(action: Action, value: str) -> bool:
    """Whether a value that holds text of a log may be set."""
    try:
        if action.kind == "flag":
            _ENGINE.arguments.remedied(action.name or "", "set", value)
    except ValueError:
        return False
    return _FROM_A_LOG["value"].fullmatch(value) is not None


def _may_come_from_a_log(action: Action, name: str, arguments: Mapping[str, str] | None) -> bool:
    """Whether a name that stands in a log may be acted on: an option only if it was given, to be dropped."""
    if action.kind not in ("flag", "env"):
        return action.kind in _FROM_A_LOG and _FROM_A_LOG[action.kind].fullmatch(name) is not None
    try:
        if action.kind == "env":
            return (
                _ENGINE.variables.is_own(_ENGINE.variables.remedied(name, "remove")) and action.op == "remove"
            )
        bare = _ENGINE.arguments.remedied(name, "remove").replace("-", "_")
    except ValueError:
        return False
    return action.op == "remove" and (arguments is None or bare in arguments)


def _filled(template: str, groups: Mapping[str, str]) -> str | None:
    """The text with its {groups}; None where one was not read."""
    wanted = TEMPLATE.findall(template)
    if any(not groups.get(name) for name in wanted):
        return None
    return TEMPLATE.sub(lambda match: groups[match[1]], template)
