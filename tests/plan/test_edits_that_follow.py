"""An option that is dropped may have hidden what the checkpoint asks for: a way says itself whether its files are edited then."""

from __future__ import annotations

import pytest

from orchestrator.base.data_folders import shipped
from orchestrator.patches import catalogue
from orchestrator.plan.plan import make_plan
from orchestrator.plan.wishes import Wishes
from orchestrator.playbook import playbook as playbooks
from tests.surveys import FILES, NO_FILES, WHOLE, cards, survey

PATCHES = catalogue.load([shipped("patches")])
KIMI = playbooks.find("kimi-k2.5", [shipped("playbooks")])


@pytest.mark.parametrize(
    ("patch", "dtype", "edited"),
    [
        ("fp8-kv-mla", "fp8", True),
        ("fp8-kv-attention", "fp8", True),
        ("kv-dtype-not-in-kernel", "bfloat16", True),
        ("kv-dtype-unfit", "fp8_e5m2", False),  # the checkpoint's own FP8 fits
        ("turboquant-unsupported", "turboquant_k8v4", False),
    ],
)
@pytest.mark.parametrize("there", [True, False], ids=["files", "no files"])
def test_what_decides_next(patch: str, dtype: str, edited: bool, there: bool) -> None:
    playbook = KIMI.with_overrides((), (f"kv-cache-dtype={dtype}",))
    found = survey(gpus=cards(cap="9.0"), checkpoint=WHOLE if there else NO_FILES)
    planned = make_plan("gpu7", playbook, found, Wishes(patches=PATCHES, forced=(patch,)))
    (change,) = planned.changes
    assert (change.flags, change.way) == ({"--kv-cache-dtype": None}, "drop --kv-cache-dtype")
    assert sorted(change.edits.after if change.edits else ()) == (sorted(FILES) if edited and there else [])
    assert bool(change.pending) is (edited and not there)
    assert planned.fit.kv_bytes_per_token == (70_272 if edited else 35_136)
