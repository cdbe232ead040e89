"""How the engine is started is told in the words of its kind, and the host is asked for the kind of that name."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.launch.server import Server
from orchestrator.on_host.kinds import registry
from orchestrator.on_host.kinds.nohup import Nohup
from orchestrator.plan.plan import Plan
from orchestrator.steps.launch import LaunchStep
from tests.jobs import Answering, job
from tests.steps.doing import do, plan
from tests.steps.following import UNDER_WAY, followed


class Other(Nohup):
    name = "other"
    description = "in another way"


@pytest.fixture(params=["nohup", "other"])
def planned(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Plan:
    monkeypatch.setitem(registry.KINDS, "other", Other())
    return replace(plan(), launch_kind=request.param)


def test_the_words_are_those_of_the_kind(planned: Plan) -> None:
    how = {"nohup": "under nohup", "other": "in another way"}[planned.launch_kind]
    (words,) = LaunchStep(planned).effects.words
    assert words == f"start the engine {how}, log and identity in ~/.local/state/deploy/kimi-k2.5"


def test_the_host_is_asked_for_the_kind(planned: Plan) -> None:
    host = Answering(
        launch={"launch": 1, "pid": 7, "log": "/s/vllm.log", "started_at": "2026-02-20T21:00:00"}
    )
    assert Server(job(host)).start(planned).launch == 1
    ((program, request),) = host.asked
    assert (program, request["kind"]) == ("launch", planned.launch_kind)


def test_a_plan_asks_for_nohup() -> None:
    assert plan().launch_kind == "nohup"


@pytest.mark.parametrize("trusted", [None, {"action": "consent", "commit": "c"}])
def test_whose_code_it_runs_goes_on_record_before_it_is_started_and_followed(
    trusted: dict[str, str] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    launch, done = followed(monkeypatch), []
    asked = job()
    monkeypatch.setattr(type(asked), "record", lambda self, record: done.append(record))
    monkeypatch.setattr(Server, "start", lambda self, plan: done.append("started") or UNDER_WAY)
    assert do(LaunchStep(replace(plan(), trusted=trusted)), asked) == (None, 1)
    assert done == [*([trusted] if trusted else []), "started"]
    assert launch.asked == [(3, "new"), "let go"]
