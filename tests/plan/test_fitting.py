"""What the longest context is with each dtype, and what would make a context fit."""

from __future__ import annotations

import pytest

from orchestrator.base.data_folders import shipped
from orchestrator.engines.sizing import Fit
from orchestrator.patches import catalogue
from orchestrator.plan import outlook, resolve
from orchestrator.plan.change import Change
from orchestrator.plan.fitting import Fitting
from orchestrator.playbook import playbook as playbooks
from orchestrator.playbook.playbook import Figures, Playbook
from orchestrator.survey import supposed
from orchestrator.survey.cards import named
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


def test_each_way_that_makes_a_long_context_fit_is_told_with_what_to_type() -> None:
    long = KIMI.with_overrides(["context=262144"])
    judged = fit(long, survey(), BF16, version="0.20.0")
    assert judged.verdict == "does_not_fit"
    assert [way.text for way in judged.ways] == [
        "context 174688: --set context=174688",
        "a KV cache in FP8: --set arguments.kv-cache-dtype=fp8",
        "decode context parallel 2: --set arguments.decode-context-parallel-size=2",
        "tensor parallel 16, on 16 GPUs: --set parallel.tensor=16 --set needs.gpus=16",
    ]


LLAMA = Figures(weights_bytes=140 * 2**30, layers=80, kv_heads=8, head_dim=128)


@pytest.mark.parametrize(
    ("gpu", "figures", "settings", "version"),
    [
        ("8xRTX PRO 6000", KIMI.figures, ["context=262144", "arguments.kv-cache-dtype=bfloat16"], "0.20.0"),
        ("8xRTX PRO 6000", KIMI.figures, ["context=262144", "arguments.kv-cache-dtype=bfloat16"], "0.16.0"),
        ("4xH200", KIMI.figures, ["parallel.tensor=4", "context=1000000"], "0.24.0"),
        ("2xH100", LLAMA, ["parallel.tensor=2", "context=131072"], "0.19.1"),
        ("16xA100 80GB", LLAMA, ["parallel.tensor=16", "needs.gpus=16", "context=4000000"], "0.32.0"),
    ],
)
def test_typing_a_way_makes_it_fit(gpu: str, figures: Figures, settings: list[str], version: str) -> None:
    wanted = KIMI.model_copy(update={"figures": figures}).with_overrides(settings)
    judged = fit(wanted, supposed.of_cards(wanted, named(gpu)), version=version)
    assert judged.verdict != "fits"
    assert judged.ways
    for way in judged.ways:
        then = wanted.with_overrides(way.settings)
        cards = f"{way.gpus}x{gpu.partition('x')[2]}" if way.gpus else gpu
        assert fit(then, supposed.of_cards(then, named(cards)), version=version).verdict == "fits", way


@pytest.mark.parametrize(
    ("gpu", "version", "offered"),
    [
        ("8xRTX PRO 6000", "0.17.1", False),  # no backend for a latent takes it
        ("8xRTX PRO 6000", "0.18.0", True),
        ("8xH200", "0.16.0", True),
        ("8xA100 80GB", "0.32.0", False),  # kernels for FP8 begin at 8.9
        ("8xL40S", "0.32.0", True),
    ],
)
def test_fp8_is_a_way_where_the_release_takes_it_on_the_card(gpu: str, version: str, offered: bool) -> None:
    wanted = KIMI.with_overrides(["figures.weights_bytes=200000000000", "context=2000000"], [BF16])
    kind = Fitting(
        wanted,
        supposed.of_cards(wanted, named(gpu)),
        version,
        resolve.standing(wanted, survey()),
        {},
        "bfloat16",
    )
    assert kind.keeps_fp8 is offered


def test_a_way_that_the_release_does_not_take_is_none() -> None:
    long = KIMI.with_overrides(["context=262144"])
    ways = fit(long, survey(), BF16, version="0.10.0").ways
    assert [way.what for way in ways] == ["context 112048", "tensor parallel 16"]


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
    judged = outlook.fit(long, survey(), "0.18.0", resolve.changed(options, changes), changes)
    assert [way.what for way in judged.ways] == [
        "context 151776", "decode context parallel 2", "tensor parallel 16",
    ]  # fmt: skip


def test_heads_are_divided_and_not_shared_over_ranks() -> None:
    llama = KIMI.model_copy(update={"figures": LLAMA}).with_overrides(["parallel.tensor=2", "context=131072"])
    judged = fit(llama, survey(checkpoint=NO_FILES))
    assert judged.verdict == "does_not_fit"
    assert [way.settings for way in judged.ways] == [("context=66336",), ("parallel.tensor=4",)]


def test_pipeline_stages_share_the_layers_and_the_fullest_decides() -> None:
    staged = KIMI.with_overrides(["parallel.tensor=4", "parallel.pipeline=2"])
    for checkpoint in (WHOLE, NO_FILES):
        assert fit(staged, survey(checkpoint=checkpoint)).kv_bytes_per_token == 31 * 576


def test_weights_that_leave_no_room_want_more_cards_alone() -> None:
    small = KIMI.with_overrides(["parallel.tensor=4"])
    assert [way.what for way in fit(small, survey()).ways] == ["tensor parallel 8"]


def test_nothing_is_told_where_the_fit_is_not_known() -> None:
    bare = KIMI.model_copy(update={"figures": Figures()})
    judged = fit(bare, survey(checkpoint=NO_FILES))
    assert (judged.verdict, judged.longest_by_dtype, judged.ways) == ("unknown", {}, ())
