"""What does a release of vLLM take where an option is not given?"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from typing import Any

from packaging.version import Version

from orchestrator.engines.options import Default
from orchestrator.engines.vllm.option_table import releases
from orchestrator.engines.vllm.releases import table

_USUAL_GIB = 80.0
"""Of a card whose memory is not known."""


def default(
    name: str, version: str | None, memory_gib: float | None = None, card: str | None = None
) -> Default:
    """The default of an option or a variable in this version, on a card of so many GiB and this name.

    A version that is not known is taken for the oldest, one that is newer than all that were read for the newest.
    """
    generations: list[dict[str, Any]] = table("defaults.json")["defaults"][name]
    release = _release(version)
    current = [each for each in generations if Version(each["since"]) <= release] or generations[-1:]
    values = [_value(each, _USUAL_GIB if memory_gib is None else memory_gib, card or "") for each in current]
    same = next((count for count, value in enumerate(values) if value != values[0]), len(values))
    before = values[same] if same < len(values) else None
    return Default(name, values[0], current[same - 1]["since"], before)


def moved(
    given: Container[str], version: str, memory_gib: float | None, card: str | None
) -> Iterator[Default]:
    """The defaults that have moved by this version, of options that are not given."""
    for name in table("defaults.json")["defaults"]:
        each = default(name, version, memory_gib, card)
        if name not in given and each.before is not None:
            yield each


def _value(generation: Mapping[str, Any], memory_gib: float, card: str) -> float | str:
    rules: list[dict[str, Any]] = generation.get("by_card", [generation])
    value: float | str = next(
        rule["value"]
        for rule in rules
        if memory_gib >= rule.get("memory_gib", 0)
        and not any(part in card.lower() for part in rule.get("not_on", ()))
    )
    return value


def _release(version: str | None) -> Version:
    try:
        return Version(Version(version or "").base_version)
    except ValueError:
        return releases().read[0]
