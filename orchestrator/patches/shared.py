"""What do the config edits of a patch come to that are those of another one?"""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator.patches.action import Action, Way
from orchestrator.patches.patch import Patch


def looked_up(patch: Patch, patches: Mapping[str, Patch]) -> Patch:
    """The patch with the edits that its actions name by the patch that has them.

    Raises ValueError where there is no such patch, or it has no edits of its own.
    """
    if not any(action.of for way in patch.remedy for action in way.do):
        return patch
    return patch.model_copy(update={"remedy": tuple(_way(way, patches) for way in patch.remedy)})


def _way(way: Way, patches: Mapping[str, Patch]) -> Way:
    return way.model_copy(update={"do": tuple(_action(action, patches) for action in way.do)})


def _action(action: Action, patches: Mapping[str, Patch]) -> Action:
    if action.of is None:
        return action
    other = patches.get(action.of)
    ways = other.remedy if other is not None else ()
    edits = [each for way in ways for each in way.do if each.kind == "config" and each.of is None]
    if not edits:
        raise ValueError(f"{action.of} is no patch with config edits of its own")
    return action.standing_for(edits)
