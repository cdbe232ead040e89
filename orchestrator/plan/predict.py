"""Which failures are certain here before they were seen, and what is done about them?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from orchestrator.engines.options import Options
from orchestrator.patches import propose
from orchestrator.patches.known import Known
from orchestrator.patches.patch import Patch
from orchestrator.patches.pointer import TOP, text_of, value_at
from orchestrator.patches.proposal import ProposedWay
from orchestrator.patches.versions import versions
from orchestrator.patches.when import When
from orchestrator.plan import resolve
from orchestrator.plan.change import Change, worked_out

_SETTINGS = ("config", "flag", "env")


def predicted(
    patches: Sequence[Patch],
    known: Known,
    options: Options,
    configs: Mapping[str, bytes],
    *,
    in_force: Sequence[str] = (),
) -> tuple[Change, ...]:
    """The changes for failures whose patch has a window, and all of that window is known to hold.

    Only what sets something, needs no consent and goes with the patches `in_force` is done on a prediction: cleaning and
    fetching answer what was seen. Without files an edit is worked out later, when they are there.
    """
    changes: list[Change] = []
    for patch in patches:
        if patch.window is None or not known.hold(patch.window):
            continue
        beside = (*in_force, *(change.patch.id for change in changes))
        ways = [way for way in propose.ways(patch, known) if _may_be_foreseen(way, beside)]
        if not ways:
            continue
        source = "" if known.documents is not None else ", by the playbook's figures"
        evidence = f"{', '.join(_as_here(patch.window, known, options.engine))}{source}"
        change = worked_out(ways[0], patch, why="certain", evidence=evidence, configs=configs)
        if change.edits or change.pending or _differs(resolve.changed(options, (change,)), options):
            changes.append(change)
    return tuple(changes)


def _may_be_foreseen(way: ProposedWay, beside: Sequence[str]) -> bool:
    settings = all(action.kind in _SETTINGS for action in way.actions)
    return settings and way.automatic and not any(name in way.conflicts for name in beside)


def _differs(then: Options, now: Options) -> bool:
    return (then.texts, then.sent, then.removed) != (now.texts, now.sent, now.removed)


def may_fail(setting: str, value: str, patches: Sequence[Patch], known: Known) -> bool:
    """Whether a patch knows of a failure here that comes of this setting, as the engine calls it, or of one that may come."""
    then = replace(known, engine={**known.engine, setting: value})
    windows = [patch.window for patch in patches if patch.window and setting in patch.window.engine]
    return any(then.hold(window) or may_be(window, then) for window in windows)


def may_be(window: When, known: Known) -> bool:
    """Whether a window cannot be judged for want of something that is not known, and all that is known fits it."""
    lacking = {
        **{kind: known.kind == kind and known.version is None for kind in versions(window)},
        "compute_cap": known.compute_cap is None,
        "gpus": known.gpus is None,
        "attention": known.attention is None,
        "cache_type": known.cache_type is None,
        "config": known.documents is None,
    }
    open_ = [name for name, lacks in lacking.items() if lacks and name in window.model_fields_set]
    engine = {name: words for name, words in window.engine.items() if name in known.engine}
    if not open_ and engine == window.engine:
        return False
    blank = When().model_dump(include=set(open_))
    return known.hold(window.model_copy(update={**blank, "engine": engine}))


def _as_here(window: When, known: Known, engine: str) -> Iterator[str]:
    """What the window asks for, as it is here."""
    if versions(window):
        yield f"{engine} {known.version}"
    if window.compute_cap:
        yield f"compute capability {known.compute_cap}"
    if window.gpus is not None:
        yield f"{known.gpus} GPUs"
    if window.attention:
        yield f"{known.attention} attention"
    if window.cache_type:
        yield f"KV cache {known.cache_type} by the checkpoint"
    for name in window.engine:
        yield f"{name} {known.engine.get(name)}"
    for name in window.arguments:
        yield f"--{name.replace('_', '-')} {(known.arguments or {}).get(name)}"
    for place in window.config:
        yield f"{place} is {text_of(value_at(TOP.to(place), known.documents or {})) or 'not there'}"
    if window.holds is not None:
        yield window.holds
