"""What did vLLM's choice of a kernel for a quantised linear layer refuse, and which least change would leave one?

One sentence since vLLM 0.6.3: "Failed to find a kernel that can implement the KIND linear layer. Reasons:", then a line for
each kernel. A kernel gives its first reason alone, so what takes that away may show the next.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from orchestrator.engines.log_grammar import BackendRefusal, LeastChange
from orchestrator.engines.vllm.log.levers import GIVEN, INSTALL, SET, Lever, least, named, weight_of

_LIST = re.compile(
    r"Failed to find a kernel that can implement the (?P<layer>[\w.-]{1,40}) linear layer\. Reasons: ?\n(?P<reasons>[\s\S]{0,8000})"
)
_REASON = re.compile(r"^ ?(?P<kernel>[A-Z]\w{0,80}Kernel):? (?P<reason>.{1,400})$", re.MULTILINE)
_DISABLED = re.compile(r"(?:is )?disabled by environment variable")
_DTYPE = re.compile(r"\b[Oo]nly (?:supports? )?(?P<dtype>b?float16|BF16|FP16)(?:/\w{1,10})? activations")
_DIVIDED = re.compile(r"\b(?:divisible by|not a multiple of)\b")
_PACKAGE = re.compile(r"`pip install (?P<package>[\w.\[\]-]{1,60})`")
_SPELT = {"float16": "half", "FP16": "half", "bfloat16": "bfloat16", "BF16": "bfloat16"}
MENDABLE = ("linear_backend", "disabled_kernels", "linear_dtype", "tensor_parallel_size", "package")
"""The settings that a reason can be about, what costs least first where two weigh the same."""


def parse(text: str) -> BackendRefusal | None:
    """The refusal in `text` (an exception's message, a reason a line), or None."""
    refused = _LIST.search(text)
    if refused is None:
        return None
    reasons = {match["kernel"]: (match["reason"],) for match in _REASON.finditer(refused["reasons"])}
    return BackendRefusal(None, reasons=MappingProxyType(reasons), layer=refused["layer"])


def least_change(refusal: BackendRefusal, arguments: Mapping[str, str] | None) -> LeastChange | None:
    """The least change by which a kernel of the list may run, without `settings` where none would do; None where there is no
    list. `arguments` are those of the command line (names with underscores), None where nobody knows them."""
    if not refusal.reasons:
        return None
    needed = {kernel: _needed(kernel, reason, arguments) for kernel, (reason,) in refusal.reasons.items()}
    if arguments and arguments.get("linear_backend", "auto") != "auto":
        sentence = "leave --linear-backend away, since no other kernel was asked"
        needed["the kernels that were not asked"] = (Lever("linear_backend", GIVEN, sentence),)
    best = least(needed, MENDABLE)
    if best is None:
        return LeastChange((), (), f"No option changes what the kernels object to: {named(_told(refusal))}.")
    (lever,), kernels = best
    return LeastChange((lever.setting,), kernels, f"For {named(kernels)}: {lever.sentence}.")


def _needed(kernel: str, reason: str, arguments: Mapping[str, str] | None) -> tuple[Lever, ...] | None:
    if _DISABLED.match(reason):
        return (Lever("disabled_kernels", GIVEN, f"take {kernel} out of VLLM_DISABLED_KERNELS"),)
    if wanted := _DTYPE.search(reason):
        given = None if arguments is None else "dtype" in arguments
        return (Lever("linear_dtype", weight_of(given), f"set --dtype {_SPELT[wanted['dtype']]}"),)
    if _DIVIDED.search(reason) and (arguments is None or arguments.get("tensor_parallel_size", "1") != "1"):
        sentence = f"set another --tensor-parallel-size, since {reason.rstrip('. ')}"
        return (Lever("tensor_parallel_size", SET, sentence),)
    if missing := _PACKAGE.search(reason):
        return (Lever("package", INSTALL, f"pip install {missing['package']}"),)
    return None


def _told(refusal: BackendRefusal) -> list[str]:
    return [f"{kernel} ({reason.strip().rstrip('.')})" for kernel, (reason,) in refusal.reasons.items()]
