"""Which least change of what was set would leave an attention backend without an objection?

The list of reasons is the card's and the release's own answer, so no table of either stands here: a reason that nothing
which can be set takes away rules its backend out, and of the others the one that asks for least decides.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from orchestrator.engines.log_grammar import BackendRefusal, LeastChange
from orchestrator.engines.vllm.log.levers import FILES, GIVEN, UNSURE, Lever, least, named, weight_of

_BY_REASON = (
    ("block_size", re.compile(r"block_size not supported$|.{0,80}\bblock size must be\b")),
    ("dtype", re.compile(r"dtype not supported$")),
    ("use_batch_invariant", re.compile(r"batch invariance not supported$")),
    (
        "kv_cache_dtype",
        re.compile(r"kv_cache_dtype not supported$|FP8 KV cache requires\b|.{0,80}\b(?:kv-cache dtype$|[Qq]uantized KV cache)"),
    ),
)  # fmt: skip
"""The setting that each reason is about, what costs nothing to change first."""
MENDABLE = tuple(setting for setting, _ in _BY_REASON)
_QUANTISED_ONLY = ("TURBOQUANT", "TOKENSPEED_MLA")
"""Backends that read quantised KV caches alone: without one they object as well."""
_NOT_QUANTISED = ("auto", "None")


def least_change(refusal: BackendRefusal, arguments: Mapping[str, str] | None) -> LeastChange | None:
    """The least change by which a backend of the list would run, without `settings` where none would do; None where there is
    no list. `arguments` are those of the command line (names with underscores), None where nobody knows them."""
    if refusal.forced is not None or not refusal.reasons:
        return None
    needed = {name: _needed(name, why, refusal, arguments) for name, why in refusal.reasons.items()}
    best = least(needed, MENDABLE)
    if best is None:
        return LeastChange((), (), _none_would_do(refusal))
    levers, backends = best
    settings = tuple(lever.setting for lever in levers)
    return LeastChange(settings, backends, _told(levers, backends, refusal))


def _needed(
    backend: str, reasons: tuple[str, ...], refusal: BackendRefusal, arguments: Mapping[str, str] | None
) -> tuple[Lever, ...] | None:
    """What must change for this backend to run; None where that cannot be set."""
    settings = {_setting(reason) for reason in reasons}
    if None in settings or ("kv_cache_dtype" in settings and backend in _QUANTISED_ONLY):
        return None
    levers = [_lever(setting, refusal, arguments) for setting in MENDABLE if setting in settings]
    return None if None in levers else tuple(lever for lever in levers if lever is not None)


def _setting(reason: str) -> str | None:
    return next((setting for setting, about in _BY_REASON if about.match(reason)), None)


def _lever(setting: str, refusal: BackendRefusal, arguments: Mapping[str, str] | None) -> Lever | None:
    """How the setting is changed here; None where nobody set it, so that there is nothing to undo."""
    value = refusal.config.get(setting)
    given = None if arguments is None else setting in arguments
    weight = weight_of(given)
    if setting == "use_batch_invariant":
        return Lever(setting, UNSURE, "unset VLLM_BATCH_INVARIANT")
    if setting == "block_size":
        # of a hybrid model vLLM works it out itself
        return (
            None if given is False or value == "None" else Lever(setting, weight, "leave --block-size away")
        )
    if setting == "dtype":
        return Lever(setting, weight, "set --dtype bfloat16 (half before compute capability 8.0)")
    if value in _NOT_QUANTISED:
        return None
    return _cache(given, refusal)


def _cache(given: bool | None, refusal: BackendRefusal) -> Lever | None:
    """A KV dtype is the option's, else the checkpoint's; sparse attention wants the one that its files ask for."""
    if given:
        return Lever("kv_cache_dtype", GIVEN, "leave --kv-cache-dtype away")
    if refusal.config.get("use_sparse") == "True":
        return None
    if given is None:
        sentence = "leave --kv-cache-dtype away, or, where the checkpoint asks for it, edit its config files"
        return Lever("kv_cache_dtype", UNSURE, sentence)
    return Lever("kv_cache_dtype", FILES, "the checkpoint asks for it, so its config files decide")


def _told(levers: tuple[Lever, ...], backends: tuple[str, ...], refusal: BackendRefusal) -> str:
    values = [f"{lever.setting}={refusal.config.get(lever.setting, '?')}" for lever in levers]
    alone = "alone" if len(levers) == 1 else "together, so that no single change will do"
    objects = "objects" if len(backends) == 1 else "object"
    changes = " and ".join(lever.sentence for lever in levers)
    return f"{named(backends)} {objects} to {' and '.join(values)} {alone}: {changes}."


def _none_would_do(refusal: BackendRefusal) -> str:
    """The backends that come nearest, each with what cannot be set."""
    fixed = {
        name: [reason for reason in dict.fromkeys(why) if _setting(reason) is None]
        or list(dict.fromkeys(why))
        for name, why in refusal.reasons.items()
    }
    nearest = min(len(why) for why in fixed.values())
    close = [f"{name} ({', '.join(why)})" for name, why in fixed.items() if len(why) == nearest]
    return f"No option or config key changes what the nearest object to: {named(close)}."
