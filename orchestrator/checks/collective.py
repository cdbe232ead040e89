"""What does a collective test of the GPUs say, and which command answers it?"""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.checks.check import Check
from orchestrator.plan.collective import FALLBACK, Measured, Worth, in_words, well

SUBJECT = "collective"
_FOUNDATION = ("no_torch", "no_cuda", "few_gpus", "no_python")
"""Failures that say nothing of the GPUs."""


def not_applicable(why: str) -> Check:
    return Check(SUBJECT, "pass", f"not applicable: {why}")


def refused(why: str, mend: str | None = None) -> Check:
    return Check(SUBJECT, "fail", f"not measured: {why}", mend)


def failed_before(result: Measured) -> bool:
    """Whether it never came to the GPUs."""
    return result.planned is None or result.planned.code in _FOUNDATION


def measured(result: Measured) -> Iterator[Check]:
    """The numbers with what follows from them; then each pair of GPUs that cannot talk."""
    planned = result.planned
    if planned is not None and failed_before(result):
        yield refused(planned.reason or planned.code or "")
        return
    worth: Worth = result.worth
    leave_out = " ".join(f"--set environment.{name}=null" for name in result.variables)
    if worth == "broken":
        fallback = result.outcomes.get(FALLBACK)
        helps = fallback is not None and well(fallback)
        mend = (
            "--set environment.NCCL_P2P_DISABLE=1"
            if helps
            else "nvidia-smi topo -p2p r; sudo dmesg | grep -iE 'iommu|acs|xid'"
        )
        yield Check(SUBJECT, "fail", result.sentence, mend)
    elif worth == "leave_out":
        broken = planned is None or not well(planned)
        yield Check(SUBJECT, "fail" if broken else "warn", result.sentence, leave_out)
    else:
        yield Check(SUBJECT, "warn" if worth == "mixed" else "pass", result.sentence)
    bad = [(a, b, outcome) for a, b, outcome in result.pairs if not well(outcome)]
    if result.ranks == 2 and planned is not None and not well(planned):
        bad = [(result.numbers[0], result.numbers[1], planned)]  # the two are the pair
    for a, b, outcome in bad:
        words = f"GPU{a}-GPU{b}: {in_words(outcome, 2)}"
        yield Check("pair", "fail", words + (f"; NCCL says: {outcome.lines[-1]}" if outcome.lines else ""))
    if result.pairs and not bad:
        yield Check(
            "pair",
            "warn",
            f"each of {len(result.pairs)} pairs by itself does well: what fails is more of them together",
        )
    if result.untried:
        yield Check("pair", "unknown", f"{result.untried} pairs were not tried for want of time")
