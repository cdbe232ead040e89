"""Which failures are certain here before they were seen, and what is done about them?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from orchestrator.engines.options import Options
from orchestrator.patches import propose
from orchestrator.patches.known import Known
from orchestrator.patches.patch import Patch
from orchestrator.patches.proposal import ProposedWay
from orchestrator.plan import resolve
from orchestrator.plan.change import Change, worked_out
from orchestrator.plan.windows import as_here, holds, may_be, window_of

_SETTINGS = ("config", "flag", "env")


def predicted(
    patches: Sequence[Patch],
    known: Known,
    options: Options,
    configs: Mapping[str, bytes],
    *,
    in_force: Sequence[str] = (),
) -> tuple[Change, ...]:
    """The changes for failures whose patch has a window that is certain, and all of that window is known to hold.

    Only what sets something, needs no consent and goes with the patches `in_force` is done on a prediction: cleaning and
    fetching answer what was seen. Without files an edit is worked out later, when they are there.
    """
    changes: list[Change] = []
    for patch in patches:
        window = window_of(patch, known)
        if window is None or window.certainty != "certain":
            continue
        beside = (*in_force, *(change.patch.id for change in changes))
        ways = [way for way in propose.ways(patch, known) if may_be_foreseen(way, beside)]
        if not ways:
            continue
        source = "" if known.documents is not None else ", by the playbook's figures"
        evidence = f"{', '.join(as_here(window, known, options.engine))}{source}"
        change = worked_out(ways[0], patch, why="certain", evidence=evidence, configs=configs)
        change = replace(change, engine={name: known.engine[name] for name in window.engine})
        if change.edits or change.pending or _differs(resolve.changed(options, (change,)), options):
            changes.append(change)
    return tuple(changes)


def may_be_foreseen(way: ProposedWay, beside: Sequence[str] = ()) -> bool:
    """Whether a way may be taken on a prediction, beside these patches."""
    settings = all(action.kind in _SETTINGS for action in way.actions)
    return settings and way.automatic and not any(name in way.conflicts for name in beside)


def _differs(then: Options, now: Options) -> bool:
    return (then.texts, then.sent, then.removed) != (now.texts, now.sent, now.removed)


def may_fail(setting: str, value: str, patches: Sequence[Patch], known: Known) -> bool:
    """Whether a patch knows of a failure here that comes of this setting, as the engine calls it, or of one that may come."""
    then = replace(known, engine={**known.engine, setting: value})
    windows = [window for patch in patches for window in patch.window if setting in window.engine]
    return any(holds(window, then) or may_be(window, then) for window in windows)
