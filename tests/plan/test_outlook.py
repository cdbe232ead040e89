"""Whether what will be launched fits, what changes bring about for it, and whether the cards have room now."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.base.data_folders import shipped
from orchestrator.engines.options import Options
from orchestrator.engines.sizing import Fit
from orchestrator.patches import catalogue
from orchestrator.plan import outlook, resolve
from orchestrator.plan.change import Change
from orchestrator.playbook import playbook as playbooks
from orchestrator.playbook.playbook import Figures, Playbook
from orchestrator.survey.survey import Survey
from tests.surveys import NO_FILES, WHOLE, survey

KIMI = playbooks.find("kimi-k2.5", [shipped("playbooks")])
PATCH = catalogue.load([shipped("patches")])[0]
GQA = Figures(weights_bytes=16 * 2**30, layers=32, kv_heads=8, head_dim=128)
SMALL = Playbook.model_validate(
    {
        "name": "small",
        "model": {"repository": "org/small"},
        "context": 8192,
        "parallel": {"tensor": 2},
        "figures": GQA.model_dump(exclude_unset=True),
    }
)
BARE = survey(checkpoint=NO_FILES)


def fit(playbook: Playbook, found: Survey, *arguments: str, version: str | None = "0.16.0") -> Fit:
    asked = playbook.with_overrides([], arguments)
    return outlook.fit(asked, found, version, resolve.standing(asked, found))


def change(**flags: str | None) -> Change:
    return Change(PATCH, "finding", "", flags={f"--{name.replace('_', '-')}": flags[name] for name in flags})


def test_the_files_tell_the_sizes_and_the_figures_where_there_are_none() -> None:
    with_files, without = fit(KIMI, survey()), fit(KIMI, BARE)
    assert with_files.kv_bytes_per_token == without.kv_bytes_per_token == 61 * (512 + 64)
    smaller = KIMI.model_copy(update={"figures": KIMI.figures.model_copy(update={"layers": 1})})
    assert fit(smaller, survey()).kv_bytes_per_token == 61 * (512 + 64)
    assert fit(smaller, BARE).kv_bytes_per_token == 512 + 64
    assert with_files.weights_gib_per_gpu == without.weights_gib_per_gpu


def test_heads_are_spread_over_the_ranks_and_bytes_go_by_the_dtype() -> None:
    assert fit(SMALL, BARE).kv_bytes_per_token == 2 * 4 * 128 * 32 * 2
    assert fit(SMALL, BARE, "kv-cache-dtype=fp8").kv_bytes_per_token == 2 * 4 * 128 * 32
    one = SMALL.with_overrides(["parallel.tensor=1"])
    assert fit(one, BARE).kv_bytes_per_token == 2 * 8 * 128 * 32 * 2
    assert fit(SMALL.model_copy(update={"figures": Figures()}), BARE).verdict == "unknown"


def test_weights_are_spread_over_tensor_and_pipeline_and_copied_for_data() -> None:
    def weights(**sizes: int) -> float:
        found = fit(SMALL.with_overrides([f"parallel.{name}={size}" for name, size in sizes.items()]), BARE)
        assert found.weights_gib_per_gpu is not None
        return found.weights_gib_per_gpu

    assert weights(tensor=1) == 16
    assert weights() == pytest.approx(16 / 2 * 1.005)
    assert weights(pipeline=2) == pytest.approx(16 / 4 * 1.005)
    assert weights(data=4) == weights()
    part = SMALL.with_overrides([f"figures.replicated_bytes={8 * 2**30}"])
    assert fit(part, BARE).weights_gib_per_gpu == 4 + 8


@pytest.mark.parametrize(
    ("argument", "version", "utilisation"),
    [
        (None, "0.16.0", 0.9),
        (None, "0.20.0", 0.92),
        (None, None, 0.9),
        ("gpu-memory-utilization=0.5", "0.20.0", 0.5),
        ("gpu-memory-utilization=much", "0.20.0", 0.92),
    ],
)
def test_the_share_of_the_card_is_what_is_given_or_the_versions_own(
    argument: str | None, version: str | None, utilisation: float
) -> None:
    assert fit(SMALL, BARE, *([argument] if argument else []), version=version).utilisation == utilisation


def test_context_parallel_ranks_share_the_cache() -> None:
    """Where they hold the same heads: the engine refuses it where each has heads of its own."""
    for wanted, share in ((SMALL, 1), (SMALL.with_overrides(["parallel.tensor=16"]), 2)):
        whole, shared = fit(wanted, BARE), fit(wanted, BARE, "decode-context-parallel-size=2")
        assert whole.needed_gib is not None
        assert shared.needed_gib == whole.needed_gib / share


@pytest.mark.parametrize(
    "figures",
    [
        {"layers": 32},
        {"kv_heads": 8, "head_dim": 128},
        {"layers": 32, "head_dim": 128},
        {"layers": 61, "qk_rope_head_dim": 64},
        {"kv_lora_rank": 512, "qk_rope_head_dim": 64},
    ],
)
def test_figures_that_do_not_make_up_a_token_leave_it_unknown(figures: dict[str, int]) -> None:
    part = SMALL.model_copy(update={"figures": Figures(**figures)})
    assert fit(part, BARE).kv_bytes_per_token is None


def with_consequences(
    playbook: Playbook, found: Survey, *changes: Change, version: str = "0.16.0"
) -> tuple[tuple[Change, ...], Options, Fit]:
    standing = resolve.standing(playbook, found)
    return outlook.with_consequences(playbook, found, version, changes, standing)


def test_what_fits_stays_as_it_is() -> None:
    wanted = change(enforce_eager="true")
    changes, options, judged = with_consequences(SMALL, BARE, wanted)
    assert (changes, judged.verdict, options.context) == ((wanted,), "fits", 8192)
    assert options.value("enforce-eager") is True


def test_a_context_that_no_longer_fits_is_shortened_with_the_last_change() -> None:
    longer = SMALL.with_overrides(["context=2097152"])
    first, last = change(enforce_eager="true"), change(kv_cache_dtype=None)
    changes, options, judged = with_consequences(longer, BARE, first, last)
    assert changes[0] == first
    assert judged.verdict == "fits"
    assert judged.context == options.context == judged.longest_context
    assert changes[1].flags == {"--kv-cache-dtype": None, "--max-model-len": str(options.context)}
    assert options.context % 16 == 0
    *_, newer = with_consequences(longer, BARE, first, last, version="0.20.0")
    assert (newer.verdict, newer.utilisation) == ("fits", 0.92)
    assert newer.context > judged.context


def test_nothing_is_shortened_unasked_or_where_nothing_would_fit() -> None:
    longer = SMALL.with_overrides(["context=2097152"])
    changes, options, judged = with_consequences(longer, BARE)
    assert (changes, options.context, judged.verdict) == ((), 2097152, "does_not_fit")
    heavy = SMALL.with_overrides([f"figures.weights_bytes={2**40}"])
    changes, options, judged = with_consequences(heavy, BARE, change(enforce_eager="true"))
    assert (options.context, judged.verdict) == (8192, "does_not_fit")
    assert changes == (change(enforce_eager="true"),)


def test_a_checkpoint_without_an_index_is_as_heavy_as_its_figures_say() -> None:
    found = survey(checkpoint=replace(WHOLE, index=None))
    assert fit(KIMI, found).weights_gib_per_gpu == fit(KIMI, BARE).weights_gib_per_gpu
