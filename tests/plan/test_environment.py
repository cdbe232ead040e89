"""The variables of a launch, each with its reason, secrets hidden."""

from __future__ import annotations

from pathlib import Path

from orchestrator.engines.vllm.adjustments import Adjustments
from orchestrator.plan.environment import engine_environment, removed_variables
from orchestrator.playbook import playbook

BASE = playbook.load(Path(__file__).parents[1] / "playbook" / "cases" / "base.yaml")


def test_the_playbooks_variables_with_their_reasons() -> None:
    (variable,) = engine_environment(BASE)
    assert (variable.name, variable.sent, variable.reason) == ("NCCL_PROTO", "LL", "measured")
    assert variable.shown == "LL"
    assert not variable.secret


def test_a_secret_is_sent_and_not_shown() -> None:
    found = BASE.with_overrides([], [], ["VLLM_API_KEY=hush"])
    variable = engine_environment(found)[-1]
    assert variable.secret
    assert variable.sent == "hush"
    assert "hush" not in repr(variable) + variable.shown


def test_a_remedy_has_the_last_word() -> None:
    remedies = Adjustments(environment={"NCCL_PROTO": None, "NCCL_P2P_DISABLE": "1", "ROOT_TOKEN": "hush"})
    added, secret = engine_environment(BASE, remedies)
    assert (added.name, added.sent, added.reason) == ("NCCL_P2P_DISABLE", "1", "set by a remedy")
    assert secret.secret
    assert removed_variables(BASE, remedies) == ("NCCL_PROTO",)
