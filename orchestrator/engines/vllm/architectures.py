"""Does a version of vLLM have a class for a checkpoint's architecture?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orchestrator.engines.consents import TRUST
from orchestrator.engines.options import Objection, Options
from orchestrator.engines.vllm.option_table import releases
from orchestrator.engines.vllm.releases import first, table, within
from orchestrator.on_host.secrets.secrets import brief

_DECIDED = ("model-impl", "hf-overrides", "model-class-overrides", "config-format")
"""With one of these another class may be meant than config.json names."""


def unsupported(config: Mapping[str, Any], options: Options, version: str) -> Objection | None:
    """Why this version cannot run a checkpoint, by its config.json; None where it can, or where that is not certain.

    An architecture that no release ever registered is not judged: Transformers may have it, or the checkpoint's own code.
    """
    named = [name for name in _list(config.get("architectures")) if isinstance(name, str)]
    own_code = "auto_map" in config and TRUST in options.given
    if (
        not named
        or own_code
        or not releases().knows(version)
        or any(name in options.given for name in _DECIDED)
    ):
        return None
    beside = releases().beside(version)
    registered = [ranges for name in named for ranges in _registered(name)]
    if not registered or any(within(ranges, release) for ranges in registered for release in beside):
        return None
    ranges = registered[0]
    gone = releases().after(ranges)
    if gone is not None and gone <= beside[0]:
        release, there = ranges.rpartition("..")[2], f"which went in {gone}"
    else:
        release, there = first(ranges), f"which came in {first(ranges)}"
    sentence = f"vLLM {version} does not have {brief(named[0], 60)}, {there}"
    return Objection("architecture_not_there", sentence, "", {"release": release})


def _registered(name: str) -> Iterator[str]:
    """The releases that register it, or a form of the model that it is converted from."""
    known: Mapping[str, str] = table("architectures.json")["architectures"]
    suffixes: list[str] = table("architectures.json")["suffixes"]
    suffix = next((each for each in suffixes if name.endswith(each)), None)
    bases = [name.removesuffix(suffix) + other for other in suffixes] if suffix else []
    for form in dict.fromkeys((name, *bases)):
        if form in known:
            yield known[form] or _always()


def _always() -> str:
    return f"{releases().read[0]}..{releases().newest}"


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
