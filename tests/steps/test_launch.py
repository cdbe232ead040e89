"""How the engine is started is told in the words of its kind, and the host is asked for the kind of that name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from orchestrator.base.errors import PreflightRefused
from orchestrator.launch.server import Server
from orchestrator.on_host.kinds import registry
from orchestrator.on_host.kinds.nohup import Nohup
from orchestrator.plan.plan import Plan
from orchestrator.plan.wishes import Wishes
from orchestrator.steps.launch import LaunchStep
from tests.jobs import PATCHES, Answering, Told, job
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


class Full(Answering):
    """A host on which somebody else took memory of GPU3 meanwhile: the first start is refused."""

    def __init__(self, used: int) -> None:
        started = {"launch": 1, "pid": 7, "log": "/s/vllm.log", "started_at": "2026-02-20T21:00:00"}
        super().__init__(launch=started, cleanup={"gpu_memory_wait": {**WAITED, "used_mib": {"GPU-3": used}}})

    def script(self, module: str, request: Any, **more: Any) -> Any:
        answer = super().script(module, request, **more)
        if len(self.asked) == 1:
            raise PreflightRefused("no_room", "gpu7: too much memory of the GPUs is in use")
        return answer


HOLDER = {
    "gpu_uuid": "GPU-3",
    "pid": 8121,
    "name": "python3",
    "memory_mib": 60000,
    "user": "ml",
    "command": "python3 x",
}
WAITED = {"seconds": 5.0, "holders": [HOLDER]}


def test_who_took_memory_since_the_plan_was_made_is_waited_for_and_no_launch_is_spent() -> None:
    host = Full(60002)
    with pytest.raises(PreflightRefused) as caught:
        do(LaunchStep(replace(plan(), trusted=None)), job(host))
    assert (caught.value.code, caught.value.exit_code) == ("gpu_busy", 4)
    assert "pid 8121 (python3 x, user ml) holds 60,000 MiB" in caught.value.message
    assert [program for program, _ in host.asked] == ["launch", "cleanup"]
    at_most = host.asked[0][1]["gpu_at_most_mib"]
    assert set(at_most) == {f"GPU-{number}" for number in range(8)}
    assert host.asked[1][1]["gpu_at_most_mib"] == at_most


def test_with_the_consent_it_is_planned_anew_beside_them() -> None:
    told = Told()
    wishes = Wishes(patches=PATCHES, consents=("share-cards",))
    asked = job(Full(16002), told, wishes=wishes)
    step = LaunchStep(replace(plan(mine=asked), trusted=None))
    assert do(step, asked) == ("crowded", 1)
    assert (
        "It stays, and by the consent share-cards this launch has arguments.gpu-memory-utilization=0.81"
        in told.events[-1].text
    )
    with pytest.raises(PreflightRefused, match="No smaller share of the card would do"):
        do(step, job(Full(60002), wishes=wishes))


def test_memory_that_came_back_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    followed(monkeypatch)
    host = Full(2)
    assert do(LaunchStep(replace(plan(), trusted=None)), job(host)) == (None, 1)
    assert [program for program, _ in host.asked] == ["launch", "cleanup", "launch"]


def test_any_other_refusal_of_a_start_is_no_matter_of_memory() -> None:
    class Refusing(Answering):
        def script(self, module: str, request: Any, **_: Any) -> Any:
            assert module == "launch"
            raise PreflightRefused("cannot_start", "gpu7: cannot start /bin/sh")

    with pytest.raises(PreflightRefused, match="cannot start"):
        do(LaunchStep(replace(plan(), trusted=None)), job(Refusing()))
