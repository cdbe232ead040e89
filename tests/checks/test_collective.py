"""Which checks a collective test comes to."""

from __future__ import annotations

import pytest

from orchestrator.checks.collective import measured as checked
from orchestrator.plan.collective import Measured
from tests.plan.collectives import FAILED, SILENT, measured, outcome

FAST, SLOW = outcome(30, 60, 5728), outcome(45, 80, 10210)
DEAF = outcome(**SILENT, lines=("NCCL WARN no peer",))
LEAVE_OUT = "--set environment.NCCL_P2P_LEVEL=null"


@pytest.mark.parametrize(
    ("result", "verdicts", "words", "mend"),
    [
        (measured({"untuned": FAST}), ["pass"], "no variable of NCCL is planned", None),
        (measured({"tuned": FAST, "untuned": SLOW}), ["pass"], "keep NCCL_P2P_LEVEL=SYS", None),
        (measured({"tuned": SLOW, "untuned": FAST}), ["warn"], "leave NCCL_P2P_LEVEL=SYS out", LEAVE_OUT),
        (measured({"tuned": DEAF, "untuned": SLOW}, ((0, 1, SLOW), (2, 5, DEAF))), ["fail", "fail"], "GPU2-GPU5: stood still at the first sum; NCCL says: NCCL WARN no peer", LEAVE_OUT),
        (measured({"tuned": DEAF, "untuned": DEAF, "without_p2p": SLOW}, gpus=2), ["fail", "fail"], "GPU0-GPU1: stood still", "--set environment.NCCL_P2P_DISABLE=1"),
        (measured({"untuned": DEAF, "without_p2p": DEAF}, gpus=2), ["fail", "fail"], "with NCCL_P2P_DISABLE=1 stood still", "nvidia-smi topo -p2p r; sudo dmesg | grep -iE 'iommu|acs|xid'"),
        (measured({"untuned": outcome(**FAILED)}, ((0, 1, SLOW),), untried=3), ["fail", "warn", "unknown"], "each of 1 pairs by itself does well", "nvidia-smi topo -p2p r; sudo dmesg | grep -iE 'iommu|acs|xid'"),
        (measured({"untuned": outcome(state="failed", at="starting", code="no_cuda", reason="torch 2.9+cpu sees no GPU by CUDA")}), ["fail"], "not measured: torch 2.9+cpu sees no GPU by CUDA", None),
    ],
)  # fmt: skip
def test_the_numbers_and_the_pairs_that_cannot_talk(
    result: Measured, verdicts: list[str], words: str, mend: str | None
) -> None:
    listed = list(checked(result))
    assert [check.verdict for check in listed] == verdicts
    assert words in "\n".join(check.sentence for check in listed)
    assert listed[0].mend == mend
