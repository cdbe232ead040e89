"""Where does the value of each variable come from, does the host bear it out, and how is it left out? Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from orchestrator.engines.variable import Origin, Variable
from orchestrator.plan.nccl import Confirmation

_WHO: dict[Origin, str] = {
    "playbook": "playbook",
    "option": "option",
    "topology": "this host",
    "chosen": "profile of the cards",
}


@dataclass(frozen=True)
class Sourced:
    """A variable with what this host's facts say of its value; None where no fact bears on it."""

    variable: Variable
    confirmation: Confirmation | None = None

    @property
    def leave_out(self) -> str | None:
        """The option of the command that leaves it out; None where no single one does."""
        setting = f"--set environment.{self.variable.name}=null"
        return setting if self.variable.origin in ("playbook", "topology", "chosen") else None

    @property
    def sentence(self) -> str:
        """Who set it and why; a playbook's reason is the playbook's word, never a fact of this host."""
        variable, judged = self.variable, self.confirmation
        who = _WHO.get(variable.origin)
        if judged is None:
            return ": ".join(filter(None, (who, variable.reason)))
        if judged.confirmed:
            return f"{who or variable.reason}, confirmed here: {judged.fact}"
        says = (
            f" (its reason: {variable.reason})"
            if variable.origin in ("playbook", "chosen") and variable.reason
            else ""
        )
        return f"{who or variable.reason}, not confirmed here: {judged.fact}{says}"

    def as_json(self) -> dict[str, Any]:
        """`confirmed` (null: no fact of the host bears on it) with `fact`, and `leave_out`, the option that does."""
        judged = self.confirmation
        by_links = self.variable.origin == "topology"
        return {
            **self.variable.as_json(),
            "confirmed": True if by_links else None if judged is None else judged.confirmed,
            "fact": self.variable.reason if by_links else None if judged is None else judged.fact,
            "leave_out": self.leave_out,
        }
