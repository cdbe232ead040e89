"""What does a remedy come to for one failure: which actions, with which values?"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import dropwhile
from typing import Any

from orchestrator.engines import registry
from orchestrator.engines.command_line import canonical
from orchestrator.engines.protocol import ReadEngine
from orchestrator.patches import config_edits, formula
from orchestrator.patches.action import TEMPLATE, Action, Way
from orchestrator.patches.known import Known
from orchestrator.patches.patch import Patch
from orchestrator.patches.proposal import ProposedAction, ProposedWay

_FROM_A_LOG = {
    "value": re.compile(r"(?!-)[A-Za-z0-9_.,:;=+{}\[\]\"' -]{1,256}"),
    "redownload": re.compile(r"(?!.*\.\.)[A-Za-z0-9_][\w.-]*(?:/[A-Za-z0-9_][\w.-]*)*", re.ASCII),
    "install": re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}(?:\[[A-Za-z0-9,._-]{1,99}\])?"),
}
"""What a text of a log may be where it becomes a value, a file of the checkpoint or a package: anybody who is served
can write into a log, so it never looks like an option or a path elsewhere."""


_NAMES = {
    "option": (re.compile(r"--[a-z][a-z0-9_-]{1,80}", re.ASCII), "the option"),
    "missing": (re.compile(r"[\w][\w./+-]{0,80}", re.ASCII), "the header, library or option that it names"),
}
"""Names of the log that advice may tell: their form, and what stands there where a match found none of it."""


def ways(patch: Patch, known: Known) -> tuple[ProposedWay, ...]:
    """The alternatives that may be taken, mildest first; one whose values cannot be worked out is left out, and so are those
    that only answer a failure which came back, where nothing stands before them."""
    numbered = enumerate(patch.ways)
    worked = [_way(way, known, number) for number, way in numbered if known.allow(way)]
    taken = (way for way in worked if way is not None and way.actions)
    return tuple(dropwhile(lambda way: patch.ways[way.number or 0].again, taken))


def edits_then(patch: Patch, number: int, known: Known) -> tuple[ProposedAction, ...]:
    """The config edits of a way that was chosen, once its options are in: what decided instead of the files may be gone."""
    then = _way(patch.ways[number], known, number)
    return tuple(action for action in then.actions if action.kind == "config") if then is not None else ()


def with_numbers(texts: Sequence[str], known: Known) -> tuple[str, ...]:
    """What a patch tells a person, with the launch's own numbers: `{port}` is that of its command, else the engine's own;
    `{option}` is the name that a match found, `{missing}` what a compiler lacks."""

    def filled(match: re.Match[str]) -> str:
        number = known.number(match[1])
        if number is None and match[1] == "port":
            number = _engine(known).port
        if number is None and match[1] in _NAMES:
            form, instead = _NAMES[match[1]]
            name = known.groups.get(match[1], "")
            return name if form.fullmatch(name) else instead
        return formula.shown(number) if number is not None else match[0]

    return tuple(TEMPLATE.sub(filled, text) for text in texts)


def _engine(known: Known) -> ReadEngine:
    """Whose options and variables a remedy names here."""
    return registry.read(known.kind if known.kind in registry.kinds() else registry.USUAL)


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
    if name is None or (name != action.name and not _may_come_from_a_log(action, name, known)):
        return None
    fields: dict[str, Any] = {"kind": action.kind, "name": name}
    if action.op:
        fields["op"] = action.op
    if action.value is not None:
        value = _filled(action.value, known.groups)
        logged = TEMPLATE.search(action.value) is not None
        fields["value"] = None if logged and not _FROM_A_LOG["value"].fullmatch(value or "") else value
    elif action.formula is not None:
        worked = formula.evaluate(action.formula, known.number)
        fields["value"] = None if worked is None else formula.shown(worked)
    if "value" in fields and fields["value"] is None:
        return None
    proposed = ProposedAction(**fields)
    return [proposed] if _may_be_taken(proposed, _engine(known)) else None


def _may_be_taken(action: ProposedAction, engine: ReadEngine) -> bool:
    """Whether a remedy may touch this option or variable of the engine that runs; the patch was read by the rules of the
    usual one, and without what the log says."""
    if action.kind not in ("flag", "env"):
        return True
    rules = engine.arguments if action.kind == "flag" else engine.variables
    try:
        rules.remedied(action.name or "", action.op or "set", action.value)
    except ValueError:
        return False
    return True


def _may_come_from_a_log(action: Action, name: str, known: Known) -> bool:
    """Whether a name that stands in a log may be acted on: an option only if it was given, to be dropped."""
    if action.kind not in ("flag", "env"):
        return action.kind in _FROM_A_LOG and _FROM_A_LOG[action.kind].fullmatch(name) is not None
    if action.kind == "env":
        return action.op == "remove" and _engine(known).variables.is_own(name)
    bare = canonical(name.removeprefix("--")).replace("-", "_")
    return action.op == "remove" and (known.arguments is None or bare in known.arguments)


def _filled(template: str, groups: Mapping[str, str]) -> str | None:
    """The text with its {groups}; None where one was not read."""
    wanted = TEMPLATE.findall(template)
    if any(not groups.get(name) for name in wanted):
        return None
    return TEMPLATE.sub(lambda match: groups[match[1]], template)
