"""Which edits of a checkpoint's config files does a remedy come to, and where is none made because nobody knows what it does?"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from orchestrator.base.errors import CheckpointError
from orchestrator.on_host.secrets.secrets import brief
from orchestrator.patches.action import Action
from orchestrator.patches.editable import personal_within
from orchestrator.patches.known import Known
from orchestrator.patches.pointer import Documents, Place, kind_of, steps, text_of, value_at, within
from orchestrator.patches.proposal import ProposedAction

_PLACE = re.compile(r"\{([^{}\s]+)\}")
_ARTICLES = {"object": "an object"}
_ABSENT = object()


def proposed(action: Action, known: Known) -> tuple[ProposedAction, ...]:
    """The edits, each a member that is there and says something else; null says nothing, and is not taken away.

    Where the files are not known the first place is told, for a person. Raises CheckpointError("config_shape") for a form
    whose meaning to the engine is not known, or that an edit would harm: then it knows the `argument` that is given instead.
    """
    if action.of is not None:
        edits = action.edits if known.allow(action) else ()
        return tuple(edit for each in edits for edit in proposed(each, known))
    return tuple(_edits(action, action.file or "", known))


def _edits(action: Action, file: str, known: Known) -> Iterator[ProposedAction]:
    bases, paths = action.within or ("",), action.path
    if known.documents is None:
        bases, paths = bases[:1], paths[:1]
    elif file not in known.documents:
        return
    for base in bases:
        at = Place(file, steps(base))
        if not known.allow(action, at):
            continue
        for path in paths:
            if known.documents is None or _changes(action, Place(file, steps(base + path)), at, known):
                edit: dict[str, Any] = {"file": file, "path": base + path, "op": action.op}
                yield ProposedAction(
                    kind="config", **edit, **({"value": action.value} if action.op == "set" else {})
                )


def _changes(action: Action, member: Place, at: Place, known: Known) -> bool:
    """Whether the edit changes anything; raises for what is not to be edited."""
    documents = known.documents or {}
    before = _before(member, documents)
    if action.op == "remove" and before in (None, _ABSENT):
        return False
    if action.op == "set" and before is not _ABSENT and _same(before, action.value):
        return False
    if before is _ABSENT and not isinstance(value_at(Place(member.file, member.steps[:-1]), documents), dict):
        return False
    kind = None if before is _ABSENT else kind_of(before)
    if kind is not None and action.expects and kind not in action.expects:
        raise _unclear(member.file, f"has {_ARTICLES.get(kind, f'a {kind}')} as {member.steps[-1]}")
    for refusal in action.refuse:
        if known.allow(refusal, at):
            says = _PLACE.sub(lambda match: _shown(at.to(match[1]), documents), refusal.says)
            raise _unclear(member.file, says, refusal.instead)
    if before is not _ABSENT and (key := personal_within(before)) is not None:
        raise _unclear(member.file, f"holds {brief(key, 60)} within {member.steps[-1]}")
    return True


def _before(member: Place, documents: Documents) -> Any:
    """What stands there now; raises where the way leads through what holds no members."""
    value: Any = documents[member.file]
    for number, step in enumerate(member.steps):
        if value is None:
            return _ABSENT
        if not isinstance(value, dict) and not (isinstance(value, list) and step.isdecimal()):
            raise _unclear(member.file, f"has a {kind_of(value)} as {'.'.join(member.steps[:number])}")
        try:
            value = within(value, step)
        except KeyError:
            return _ABSENT
    return value


def _same(value: Any, other: Any) -> bool:
    return json.dumps(value, sort_keys=True) == json.dumps(
        other, sort_keys=True
    )  # 1, 1.0 and true are not the same


def _shown(place: Place, documents: Documents) -> str:
    return brief(text_of(value_at(place, documents)) or "", 60)


def _unclear(file: str, form: str, instead: str | None = None) -> CheckpointError:
    if instead is not None:
        return CheckpointError("config_shape", f"{file} {form}, so nothing is edited", argument=instead)
    return CheckpointError(
        "config_shape",
        f"{file} {form}; what the engine makes of that is not known here, so nothing is edited",
    )
