"""Does a patch's window hold here, may it, and by what?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from orchestrator.patches import formula
from orchestrator.patches.known import Known
from orchestrator.patches.patch import Patch
from orchestrator.patches.pointer import TOP, text_of, value_at
from orchestrator.patches.versions import versions
from orchestrator.patches.when import When
from orchestrator.patches.window import Window

_SOME = ("engine", "host")
"""Of what is measured and printed some may be known, and some not."""


def window_of(patch: Patch, known: Known) -> Window | None:
    """The window that is known to hold, one that is certain before one that is not."""
    if not (patch.window and patch.concerns(known.kind)):  # of most: a plan asks all of them several times
        return None
    holding = [window for window in patch.window if holds(window, known)]
    certain = (window for window in holding if window.certainty == "certain")
    return next(certain, holding[0] if holding else None)


def holds(window: Window, known: Known) -> bool:
    """Whether it is known to hold, and nothing that keeps the failure away does, or may."""
    return known.hold(window) and not any(
        known.hold(other) or may_be(other, known) for other in window.unless
    )


def may_be(window: When, known: Known) -> bool:
    """Whether a window cannot be judged for want of something that is not known, and all that is known fits it."""
    lacking = {
        **{kind: known.kind == kind and known.version is None for kind in versions(window)},
        "compute_cap": known.compute_cap is None,
        "gpus": known.gpus is None,
        "attention": known.attention is None,
        "cache_type": known.cache_type is None,
        "config": known.documents is None,
        "model": known.documents is None,
    }
    open_ = [name for name, lacks in lacking.items() if lacks and name in window.model_fields_set]
    asked = {name: getattr(window, name) for name in _SOME}
    closed = {
        name: {key: words for key, words in wanted.items() if key in getattr(known, name)}
        for name, wanted in asked.items()
    }
    if not open_ and closed == asked:
        return False
    blank = When().model_dump(include=set(open_))
    return known.hold(window.model_copy(update={**blank, **closed}))


def concerns(windows: Sequence[Window], there: Known, here: Known | None = None) -> bool:
    """Whether what a patch with these windows cures `here` is for another host too: nothing that is known tells the two apart.

    A failure that no certain window foresaw here may come anywhere; where it is not known how it was here, any of them may have.
    """
    certain = (window for window in windows if window.certainty == "certain")
    foreseen = any(here is None or holds(window, here) for window in certain)
    return not foreseen or any(holds(window, there) or may_be(window, there) for window in windows)


def instead(window: Window, known: Known) -> str | None:
    """What a person could set, as `--set` takes it; None where that is not known."""
    for key, wanted in window.instead.items():
        if not isinstance(wanted, str):
            return f"{key}={'null' if wanted is None else 'true'}"
        value = formula.evaluate(wanted, known.number)
        if value is not None:
            return f"{key}={formula.shown(value)}"
    return None


def as_here(window: Window, known: Known, engine: str) -> Iterator[str]:
    """What the window asks for, as it is here; the engine by its title."""
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
    for name in window.variables:
        yield f"{name}={known.variables.get(name)}"
    for place in window.config:
        yield f"{place} is {text_of(value_at(TOP.to(place), known.documents or {})) or 'not there'}"
    for source, wanted in ((known.model, window.model), (known.host, window.host)):
        yield from (f"{name} {source.get(name)}" for name in wanted)
    for name in formula.names(window.holds) if window.holds is not None else ():
        number = known.number(name)
        if number is not None:
            yield f"{name} {formula.shown(number)}"
