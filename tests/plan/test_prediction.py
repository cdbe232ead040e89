"""What becomes of a failure that is foreseen and that no change mends: it is refused where it is certain, told where it is likely."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from orchestrator.cli.hints import after
from orchestrator.report.plan_text import summary
from tests.plan.hosts import machine_of
from tests.plan.test_predict import FLAG, PATCHES, VLLM, checkpoint, patch, plan
from tests.surveys import CONFIG, knowing, survey

ADVICE = {"advice": "Wait for {max_model_len} tokens."}
NEVER = {"kind": "install", "name": "ninja", "consent": "install"}


def test_what_is_certain_and_has_no_remedy_is_refused_with_evidence_and_advice() -> None:
    mine = patch({**VLLM, "holds": "max_model_len > 1"}, **ADVICE)
    planned = plan(survey(), mine)
    (refusal,) = planned.refusals
    assert (refusal.code, refusal.exit_code) == ("foreseen", 4)
    assert refusal.message == "gpu7: Mine (vLLM 0.16.0, max_model_len 131072). Wait for 131072 tokens."
    assert after(refusal, "deploy kimi --host gpu7") == "deploy kimi --host gpu7 --no-patch mine"
    (told,) = planned.as_json()["predictions"]
    assert told == {
        "patch": "mine",
        "certainty": "certain",
        "evidence": "vLLM 0.16.0, max_model_len 131072",
        "action": "Wait for 131072 tokens.",
    }
    assert plan(survey(), mine, forbidden=("mine",)).refusals == ()
    assert plan(survey(), mine, predict=False).refusals == ()


@pytest.mark.parametrize(
    ("instead", "setting"),
    [
        ({"parallel.tensor": "gcd(tensor_parallel_size, 6)"}, "parallel.tensor=2"),
        ({"arguments.enable-eplb": True}, "arguments.enable-eplb=true"),
        ({"arguments.enable-eplb": None}, "arguments.enable-eplb=null"),
        ({"context": "length"}, None),
    ],
)
def test_the_next_command_of_a_refusal_sets_what_would_do(
    instead: dict[str, Any], setting: str | None
) -> None:
    (refusal,) = plan(survey(), patch({**VLLM, "instead": instead}, **ADVICE)).refusals
    words = f"--set {setting}" if setting else "--no-patch mine"
    assert after(refusal, "deploy kimi") == f"deploy kimi {words}"


@pytest.mark.parametrize("remedy", [FLAG, NEVER, None])
def test_what_is_likely_is_told_and_neither_changed_nor_refused(remedy: dict[str, Any] | None) -> None:
    mine = patch({**VLLM, "certainty": "likely"}, *([remedy] if remedy else []), **ADVICE)
    planned = plan(survey(), mine)
    assert planned.changes == planned.refusals == ()
    (told,) = planned.as_json()["predictions"]
    assert told["certainty"] == "likely"
    mended = remedy is FLAG
    assert (told["action"] == "mended once it is seen") is mended
    lines = [line for line in summary(planned) if line.startswith("  likely")]
    assert lines and lines[0].startswith("  likely     mine (vLLM 0.16.0): ")


def test_what_only_a_log_tells_how_to_mend_is_not_refused() -> None:
    mine = patch(VLLM, {**FLAG, "value": "{length}"})
    planned = plan(survey(), mine)
    assert planned.refusals == ()
    assert [(each.certainty, each.action) for each in planned.predictions] == [
        ("certain", "mended once it is seen")
    ]


@pytest.mark.parametrize("remedy", [NEVER, {**FLAG, "op": "remove", "value": None, "name": "--swap-space"}])
def test_a_remedy_that_asks_or_finds_nothing_to_take_away(remedy: dict[str, Any]) -> None:
    """What needs a consent is refused; where the remedy is in already there is nothing to foresee."""
    mine = patch(VLLM, {key: value for key, value in remedy.items() if value is not None})
    assert [each.code for each in plan(survey(), mine).refusals] == (["foreseen"] if remedy is NEVER else [])


def test_nothing_is_foreseen_of_a_launch_that_lives_or_of_a_patch_in_force() -> None:
    mine = patch(VLLM, **ADVICE)
    found = survey()
    alive = replace(found, observed=replace(found.observed, alive=True))
    assert plan(alive, mine).predictions == ()
    record = {"action": "patch", "patch": "mine", "folder": found.checkpoint.folder, "flags": {"--seed": "1"}}
    assert plan(survey(journal=[record]), mine).predictions == ()


def test_a_window_is_judged_on_what_is_launched_once_changes_are_in() -> None:
    shorter = patch(VLLM, {**FLAG, "name": "--max-model-len", "value": "4096"})
    other = patch({**VLLM, "holds": "max_model_len > 4096"}, **ADVICE).model_copy(update={"id": "other"})
    assert plan(survey(), other).refusals != ()
    assert plan(survey(), shorter, other).refusals == ()


def test_hosts_and_models_are_told_by_name() -> None:
    small = knowing(survey(), machine=machine_of("dual_turin"))
    (told,) = plan(small, *PATCHES).predictions
    assert (told.patch.id, told.certainty) == ("nccl-shm-full", "likely")
    assert told.evidence == "vLLM 0.16.0, device cuda, shm_mib 64, tensor_parallel_size 8"
    odd = checkpoint(text_config={**CONFIG["text_config"], "num_attention_heads": 60})
    (refusal,) = plan(survey(checkpoint=odd), *PATCHES).refusals
    assert "num_attention_heads 60, tensor_parallel_size 8" in refusal.message
