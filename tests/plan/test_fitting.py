"""What the longest context is with each dtype, and what would make a context fit."""

from __future__ import annotations

import pytest

from orchestrator.base.data_folders import shipped
from orchestrator.engines.sizing import Fit
from orchestrator.patches import catalogue
from orchestrator.plan import outlook, resolve
from orchestrator.plan.change import Change
from orchestrator.playbook import playbook as playbooks
from orchestrator.playbook.playbook import Figures, Playbook
from orchestrator.survey.survey import Survey
from tests.surveys import NO_FILES, WHOLE, survey

PATCH = catalogue.load([shipped("patches")])[0]
KIMI = playbooks.find("kimi-k2.5", [shipped("playbooks")])
BF16 = "kv-cache-dtype=bfloat16"


def fit(asked: Playbook, there: Survey, *arguments: str, version: str = "0.16.0") -> Fit:
    changed = asked.with_overrides([], arguments)
    return outlook.fit(changed, there, version, resolve.standing(changed, there))


@pytest.mark.parametrize("checkpoint", [WHOLE, NO_FILES], ids=["by the files", "by the figures"])
def test_the_longest_context_is_told_for_both_dtypes_whatever_is_asked(checkpoint) -> None:
    for arguments in ((), (BF16,)):
        told = fit(KIMI, survey(checkpoint=checkpoint), *arguments)
        assert told.longest_by_dtype == {"bf16": 151_776, "fp8": 303_552}
        assert told.longest_context == told.longest_by_dtype["bf16" if arguments else "fp8"]


def test_what_fits_needs_no_other_way() -> None:
    assert fit(KIMI, survey()).ways == ()


def test_each_way_that_makes_a_long_context_fit_is_told() -> None:
    long = KIMI.with_overrides(["context=262144"])
    judged = fit(long, survey(), BF16)
    assert judged.verdict == "does_not_fit"
    assert judged.ways == (
        "context 151776", "a KV cache in FP8", "decode context parallel 2", "tensor parallel 16",
    )  # fmt: skip


def test_a_context_that_is_left_to_the_engine_is_judged_for_what_will_fit() -> None:
    asked = KIMI.with_overrides(["context=auto"])
    whole = fit(asked, survey())
    assert (whole.verdict, whole.context, whole.longest_context) == ("fits", 303_552, 303_552)
    less = fit(asked, survey(), BF16)
    assert (less.verdict, less.context, less.ways) == ("fits", 151_776, ())
    assert less.reason.startswith("the engine takes as many tokens as fit; context 151776 needs ")
    unnamed = fit(asked, survey(checkpoint=NO_FILES), BF16)
    assert (unnamed.verdict, unnamed.context) == ("fits", 151_776)
    none = fit(KIMI.with_overrides(["context=auto", "parallel.tensor=4"]), survey(), BF16)
    assert none.verdict == "does_not_fit"


def test_a_dtype_that_was_taken_back_is_not_offered_again() -> None:
    long = KIMI.with_overrides(["context=262144"])
    options = resolve.standing(long, survey())
    changes = (Change(PATCH, "finding", "", flags={"--kv-cache-dtype": "bfloat16"}),)
    judged = outlook.fit(long, survey(), "0.16.0", resolve.changed(options, changes), changes)
    assert judged.ways == ("context 151776", "decode context parallel 2", "tensor parallel 16")


def test_heads_are_divided_and_not_shared_over_ranks() -> None:
    figures = Figures(weights_bytes=140 * 2**30, layers=80, kv_heads=8, head_dim=128)
    llama = KIMI.model_copy(update={"figures": figures}).with_overrides(
        ["parallel.tensor=2", "context=131072"]
    )
    judged = fit(llama, survey(checkpoint=NO_FILES))
    assert judged.verdict == "does_not_fit"
    assert judged.ways == ("context 57168", "tensor parallel 4")


def test_pipeline_stages_share_the_layers_and_the_fullest_decides() -> None:
    staged = KIMI.with_overrides(["parallel.tensor=4", "parallel.pipeline=2"])
    for checkpoint in (WHOLE, NO_FILES):
        assert fit(staged, survey(checkpoint=checkpoint)).kv_bytes_per_token == 31 * 576


def test_weights_that_leave_no_room_want_more_cards_alone() -> None:
    small = KIMI.with_overrides(["parallel.tensor=4"])
    assert fit(small, survey()).ways == ("tensor parallel 8",)


def test_nothing_is_told_where_the_fit_is_not_known() -> None:
    bare = KIMI.model_copy(update={"figures": Figures()})
    judged = fit(bare, survey(checkpoint=NO_FILES))
    assert (judged.verdict, judged.longest_by_dtype, judged.ways) == ("unknown", {}, ())
