"""Which remedy a failure calls for, and when there is none left."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from orchestrator.base.data_folders import shipped
from orchestrator.diagnosis.engine import Diagnosis, diagnose
from orchestrator.diagnosis.verdict import Remedy
from orchestrator.engines.vllm.log.grammar import GRAMMAR
from orchestrator.patches import catalogue
from orchestrator.patches.known import Known
from orchestrator.plan.plan import make_plan
from orchestrator.plan.wishes import Wishes
from orchestrator.playbook import playbook as playbooks
from orchestrator.remedy.choose import Decision, choose
from orchestrator.report.panel import finding
from orchestrator.survey.survey import Survey
from tests.surveys import FILES, WHOLE, survey

PATCHES = catalogue.load([shipped("patches")])
KIMI = playbooks.find("kimi-k2.5", [shipped("playbooks")])
REFUSAL = (
    b"ValueError: No valid attention backend found for cuda with AttentionSelectorConfig(head_size=576, "
    b"kv_cache_dtype=fp8_e4m3, use_mla=True, use_sparse=False). Reasons: {TRITON_MLA: [kv_cache_dtype not supported]}."
)


def refused(*, argument: bytes = b"") -> Diagnosis:
    log = [
        b"(APIServer pid=1) INFO 02-20 21:34:40 [utils.py:294] non-default args: {'model': 'm'"
        + argument
        + b"}",
        b"(Worker_TP4 pid=2) ERROR 02-20 21:35:07 [multiproc_executor.py:783] WorkerProc failed to start.",
        b"(Worker_TP4 pid=2) ERROR 02-20 21:35:07 [multiproc_executor.py:783] Traceback (most recent call last):",
        b'(Worker_TP4 pid=2) ERROR 02-20 21:35:07 [multiproc_executor.py:783]   File "/x/cuda.py", line 1, in f',
        b"(Worker_TP4 pid=2) ERROR 02-20 21:35:07 [multiproc_executor.py:783]     raise",
        b"(Worker_TP4 pid=2) ERROR 02-20 21:35:07 [multiproc_executor.py:783] " + REFUSAL,
    ]
    found = diagnose(log, grammar=GRAMMAR, known=Known(), patches=PATCHES)
    assert found.finding is not None and found.finding.patch == "fp8-kv-mla"
    return found


def decide(diagnosis: Diagnosis, found: Survey, *, launch: int = 9, **wishes: Any) -> Decision:
    wanted = Wishes(patches=PATCHES, **wishes)
    return choose(diagnosis, make_plan("gpu7", KIMI, found, wanted), found, wanted, launch=launch)


def patched(**more: Any) -> dict[str, Any]:
    files = [{"name": name, "before": "a", "after": "b"} for name in FILES]
    return {"action": "patch", "patch": "fp8-kv-mla", "folder": WHOLE.folder, "files": files, **more}


def test_the_files_are_edited_and_the_cost_is_named() -> None:
    decision = decide(refused(), survey())
    assert decision.change is not None and decision.change.why == "finding"
    assert decision.change.edits is not None and set(decision.change.edits.after) == set(FILES)
    assert "70,272 B" in decision.cost


def test_it_is_applied_outside_its_window_too_once_the_engine_refused() -> None:
    assert decide(refused(), survey(version="0.24.0")).change is not None


def test_the_same_failure_after_its_patch_takes_it_back() -> None:
    journal = [{"action": "launch", "launch": 1}, patched(), {"action": "launch", "launch": 2}]
    decision = decide(refused(), survey(journal=journal))
    assert decision.change is None
    assert decision.revert is not None and decision.revert.patch == "fp8-kv-mla"


def test_a_confirmed_patch_stays() -> None:
    journal = [
        patched(),
        {"action": "launch", "launch": 1},
        {"action": "outcome", "launch": 1, "result": "healthy"},
        {"action": "launch", "launch": 2},
    ]
    decision = decide(refused(), survey(journal=journal))
    assert (decision.change, decision.revert) == (None, None)


def test_a_flag_that_was_dropped_first_leaves_the_edit_for_the_next_failure() -> None:
    journal = [{"action": "launch", "launch": 1}, patched(files=[], flags={"--kv-cache-dtype": None})]
    decision = decide(refused(), survey(journal=journal))
    assert decision.change is not None and decision.change.edits is not None


def test_nothing_left_to_edit_is_said() -> None:
    plain = replace(WHOLE, configs={"config.json": b'{"model_type": "deepseek_v3"}'})
    decision = decide(refused(), survey(checkpoint=plain))
    assert decision.change is None and decision.reason


def test_advice_is_told_beside_the_reason() -> None:
    """The panel has both, the error that follows it the reason alone."""
    remedy = Remedy(automatic=False, actions=(), advice=("Buy more cards", "or fewer tokens"))
    diagnosis = refused().model_copy(update={"remedy": remedy})
    decision = decide(diagnosis, survey(checkpoint=replace(WHOLE, configs={"config.json": b"{}"})))
    assert (decision.reason, decision.advice) == (
        "its remedy finds nothing to change here",
        "Buy more cards; or fewer tokens",
    )
    told = finding(diagnosis, decision, launch=1, log_name="vllm.log", known=1)["remedy"]
    assert told == f"none: {decision.reason}. {decision.advice}"
    unwrapped = replace(decision, reason="")
    assert (
        finding(diagnosis, unwrapped, launch=1, log_name="vllm.log", known=1)["remedy"]
        == f"none: {decision.advice}"
    )


def test_on_a_cause_that_is_only_likely_nothing_is_set_and_what_a_person_may_ask_for_is_told() -> None:
    certain = refused()
    assert certain.finding is not None
    likely = certain.model_copy(
        update={"finding": certain.finding.model_copy(update={"confidence": "likely"})}
    )
    decision = decide(likely, survey())
    assert decision.change is None
    assert decision.reason == (
        "the cause is only likely, so nothing is set unasked: "
        "--patch fp8-kv-mla would edit config.json, hf_quant_config.json"
    )


def test_what_looks_first_is_done_on_a_likely_cause_too() -> None:
    likely = refused()
    assert likely.finding is not None and likely.remedy is not None
    bus_error = likely.finding.model_copy(update={"patch": "shm-full", "confidence": "likely"})
    decision = decide(likely.model_copy(update={"finding": bus_error}), survey())
    assert decision.change is not None and decision.change.cleanups == ("shm",)


def test_a_forbidden_patch_is_named() -> None:
    decision = decide(refused(), survey(), forbidden=("fp8-kv-mla",))
    assert decision.change is None and "--no-patch" in decision.reason


def test_an_unknown_failure_has_no_remedy() -> None:
    unknown = diagnose(
        [b"Traceback (most recent call last):", b"OddError: x"],
        grammar=GRAMMAR,
        known=Known(),
        patches=PATCHES,
    )
    assert decide(unknown, survey()).change is None


KILLED = {"action": "outcome", "result": "failed", "from_outside": True}


def test_a_launch_that_was_killed_by_nobody_knows_whom_is_launched_once_more() -> None:
    silent = diagnose(
        [b"(APIServer pid=1) INFO 02-20 21:34:40 [x.py:1] x"],
        grammar=GRAMMAR,
        known=Known(),
        patches=PATCHES,
    )

    def decided(*journal: dict[str, Any]) -> Decision:
        found, wanted = survey(journal=list(journal)), Wishes(patches=PATCHES)
        plan = make_plan("gpu7", KIMI, found, wanted)
        return choose(silent, plan, found, wanted, launch=9, from_outside=True)

    one, two = ({"action": "launch", "launch": number} for number in (1, 2))
    first, second = ({**KILLED, "launch": number} for number in (1, 2))
    healthy = {"action": "outcome", "launch": 2, "result": "healthy"}
    assert decided(one, first).pending
    assert decided(one, first, first).pending  # looked at twice, killed once
    assert not decided(one, first, two, second).pending
    assert decided(one, first, two, healthy, second).pending  # another incident
    assert decided(one, first, two, {"action": "stop", "by_person": True}, second).pending
