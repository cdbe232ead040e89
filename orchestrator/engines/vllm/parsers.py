"""By which of vLLM's parsers are a model's tool calls and its reasoning read?"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator
from importlib import resources
from typing import Any

from orchestrator.engines.protocol import SuitedOption
from orchestrator.engines.vllm.releases import first
from orchestrator.engines.vllm.values import choice_ranges, taken

_OPTIONS = {"tool": "tool-call-parser", "reasoning": "reasoning-parser"}
_SWITCH = "enable-auto-tool-choice"


def parsers(model_type: str, name: str, version: str | None) -> Iterator[SuitedOption]:
    """The options for a model by config.json's `model_type` and its name on the Hub, as this version has them."""
    family = _family(model_type, name)
    if family is None:
        reason = (
            f"no parser is known here for a model of type {model_type or 'unknown'}: tool calls stay text"
        )
        yield SuitedOption(_OPTIONS["tool"], None, reason)
        return
    for kind, option in _OPTIONS.items():
        parser = family.get(kind)
        if parser is None:
            continue
        if version is not None and not taken(option, parser, version):
            since = first(choice_ranges(option)[parser])
            reason = f"{parser} reads this family, from vLLM {since} on; {version} is not known to have it"
            yield SuitedOption(option, None, reason)
            continue
        template = kind == "tool" and family.get("template", False)
        beside = (
            "; the public recipe gives it a chat template besides, which is not in the repository"
            if template
            else ""
        )
        yield SuitedOption(
            option, parser, f"how this family writes them, by the public recipe{beside}", template
        )
        if kind == "tool":
            yield SuitedOption(
                _SWITCH, True, "without it the parser is accepted and no tool call is ever made"
            )


def _family(model_type: str, name: str) -> dict[str, Any] | None:
    """The first whose types and name fit."""
    families: list[dict[str, Any]] = _known()["families"]
    fitting = (
        family
        for family in families
        if model_type in family["types"] and re.search(family.get("name", ""), name, re.IGNORECASE)
    )
    return next(fitting, None)


@functools.cache
def _known() -> dict[str, Any]:
    text = resources.files("orchestrator.engines.vllm").joinpath("parsers.json").read_text()
    known: dict[str, Any] = json.loads(text)
    return known
