"""What did vLLM's attention selector refuse, and which reason did it give for each backend?

Two sentences exist since vLLM 0.11.1: "No valid attention backend found for DEVICE with CONFIG.
Reasons: {BACKEND: [reason, ...], ...}" and, with a backend forced, "Selected backend BACKEND is not valid
for this configuration. Reason: ['reason', ...]". CONFIG was `key: value` up to 0.12, a Python repr since.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from orchestrator.engines.log_grammar import BackendRefusal

_NONE_VALID = re.compile(
    r"No valid attention backend found for (?P<device>\S{1,40}) with (?P<config>[^{}]{0,2000}?)\. Reasons: \{(?P<reasons>.{0,4000})\}",
    re.DOTALL,
)
_FORCED = re.compile(
    r"Selected backend (?:\w{1,80}\.)?(?P<backend>\w{1,80}) is not valid for this configuration\. Reason: \[(?P<reasons>.{0,2000})\]",
    re.DOTALL,
)
_CONFIG = re.compile(r"(?P<key>[a-z_]{1,40})(?:=|: )(?P<value>[^,()]*)")
_BACKEND = re.compile(r"(?:^|, )(?P<name>[A-Z][A-Z0-9_]{0,80}): \[")
_HARDWARE = "compute capability not supported"
"""A backend that this card will never run says nothing about the configuration."""
_QUOTED = re.compile(r"'((?:[^'\\]|\\.){0,400})'|\"((?:[^\"\\]|\\.){0,400})\"")


def parse(text: str) -> BackendRefusal | None:
    """The refusal in `text` (an exception's message), or None."""
    if refused := _NONE_VALID.search(text):
        return BackendRefusal(refused["device"], _config(refused["config"]), _reasons(refused["reasons"]))
    if refused := _FORCED.search(text):
        reasons = tuple(single or double for single, double in _QUOTED.findall(refused["reasons"]))
        return BackendRefusal(
            None, reasons=MappingProxyType({refused["backend"]: reasons}), forced=refused["backend"]
        )
    return None


def brief(cause: str) -> str | None:
    """A refusal without what does not decide it: the settings that were objected to, the backends that came nearest."""
    refusal = parse(cause)
    if refusal is None or not refusal.config:
        return None
    wrong = {name: reasons for name, reasons in refusal.reasons.items() if _HARDWARE not in reasons}
    nearest = min((len(reasons) for reasons in wrong.values()), default=0)
    close = [f"{name}: [{', '.join(why)}]" for name, why in wrong.items() if len(why) == nearest]
    objected = {reason.removesuffix(" not supported") for why in wrong.values() for reason in why}
    values = [f"{key}={value}" for key, value in refusal.config.items() if key in objected]
    head, _, _ = cause.partition(" with ")
    return " ... ".join([head, *values, *close])


def _config(text: str) -> Mapping[str, str]:
    inner = text.removeprefix("AttentionSelectorConfig(").removesuffix(")")
    return MappingProxyType({setting["key"]: setting["value"].strip() for setting in _CONFIG.finditer(inner)})


def _reasons(text: str) -> Mapping[str, tuple[str, ...]]:
    """Split at backend names rather than at brackets: a reason is free text with commas and periods."""
    starts = list(_BACKEND.finditer(text))
    ends = [*(following.start() for following in starts[1:]), len(text)][: len(starts)]
    return MappingProxyType(
        {
            start["name"]: tuple(_sentences(text[start.end() : end].rstrip(", ").removesuffix("]")))
            for start, end in zip(starts, ends, strict=True)
        }
    )


_KNOWN = re.compile(
    r"(?:(?:head_size|dtype|kv_cache_dtype|block_size|compute capability|sink setting|attention sinks|sparse|non-sparse|MLA"
    r"|non-MLA|partial multimodal token full attention|per-head quant scales|non-causal attention|batch invariance|KV connector"
    r"|attention type \S{1,60}) not supported|ImportError)(?=, |$)"
)


def _sentences(text: str) -> list[str]:
    """Reasons of the fixed vocabulary one by one; what is between them is a backend's own sentence."""
    sentences: list[str] = []
    while text:
        known = next((match for match in _KNOWN.finditer(text) if _starts(text, match.start())), None)
        if known is None:
            return [*sentences, text]
        if own := text[: known.start()].removesuffix(", "):
            sentences.append(own)
        sentences.append(known[0])
        text = text[known.end() :].removeprefix(", ")
    return sentences


def _starts(text: str, position: int) -> bool:
    return position == 0 or text[:position].endswith(", ")
