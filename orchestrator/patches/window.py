"""Where is a failure foreseen before it was seen, and how surely?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from orchestrator.patches.wanted import Confidence
from orchestrator.patches.when import Formula, When, Whens, one_or_more


class Window(When):
    """Circumstances in which the failure comes, unless some others hold that keep it away.

    `certainty`: what is certain is mended before the launch, or refused where nothing mends it; what is likely is only
    told. Where it cannot be judged whether something keeps it away, nothing is foreseen. `instead` is what a person could set
    in the playbook, by its key: true, null, or a formula.
    """

    certainty: Confidence = "certain"
    unless: Whens = ()
    instead: Mapping[str, Formula | Literal[True] | None] = Field(default_factory=dict, max_length=1)


def _narrow(value: Window) -> Window:
    if not value.model_fields_set - {"certainty", "unless", "instead"}:
        raise ValueError(
            "is empty, so that the failure would be foreseen everywhere; allowed: at least one circumstance"
        )
    return value


Windows = Annotated[
    tuple[Annotated[Window, AfterValidator(_narrow)], ...],
    BeforeValidator(one_or_more, json_schema_input_type=Window | tuple[Window, ...]),
]
"""Alternatives, of which the first that holds is told."""
