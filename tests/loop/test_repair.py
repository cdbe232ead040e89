"""What is done after a failure, and when it is the end."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from orchestrator.base.errors import BudgetSpent, HostError, LaunchFailed, UnknownFailure
from orchestrator.base.limits import Limits
from orchestrator.diagnosis.verdict import Diagnosis, Finding, Remedy
from orchestrator.facts.gpu_processes import GpuProcess
from orchestrator.facts.gpus import Gpus
from orchestrator.job import Job
from orchestrator.launch.failure import Failure, GpuBusy
from orchestrator.launch.watch import Seen
from orchestrator.loop.acting import Acting
from orchestrator.loop.consents import Consents
from orchestrator.loop.reading import Reading
from orchestrator.loop.repair import Repair, Treatment, _before
from orchestrator.loop.together import Fall, Together
from orchestrator.plan.change import Change
from orchestrator.plan.gpu_room import Demand, Shortage, SmallerShare
from orchestrator.plan.wishes import Wishes
from orchestrator.remedy.choose import Decision
from orchestrator.steps.course import Course, course
from orchestrator.survey.survey import Survey
from tests.jobs import PATCHES, Answering, Told, job
from tests.steps.doing import plan
from tests.surveys import cards, knowing, survey

PATCH = next(patch for patch in PATCHES if patch.id == "gpu-memory-not-free")
STARTED = {"action": "launch", "launch": 1}
TRIED = {
    "action": "patch",
    "patch": "gpu-memory-not-free",
    "folder": "/home/ml/models/kimi-k2.5-nvfp4",
    "way": "clean gpu memory wait",
}
UNKNOWN = {"action": "outcome", "launch": 1, "result": "failed", "cause": "x", "finding": None}


def failure(launch: int = 1) -> Failure:
    return Failure(launch, Seen("exited", exit_code=1), Diagnosis(verdict="unknown_fault"))


class Held:
    def __init__(self) -> None:
        self.told: list[str] = []

    def doing(self, what: str) -> None:
        self.told.append(what)


class Surveyed(Reading):
    """What is seen is given."""

    def __init__(self, asked: Job, found: Survey) -> None:
        super().__init__(asked)
        self.found = found

    def survey(self) -> Survey:
        return self.found


class Failing(Acting):
    """Its lists fail so often before one ends well."""

    def __init__(self, reading: Reading, *failures: Failure) -> None:
        super().__init__(reading, Consents(), lambda: None)
        self.failures = list(failures)

    def carry_out(self, course: Course, stride: object = None) -> Failure | Course:
        return self.failures.pop(0) if self.failures else course


class Counting(Repair):
    repaired: list[tuple[int, bool]]

    def repair(self, fall: Fall, goal: Any, *, launch_anyway: bool) -> None:
        self.repaired.append((fall.failure.launch, launch_anyway))


def test_every_failure_is_repaired_until_a_list_ends_well() -> None:
    held, asked = Held(), job()
    acting = Failing(Surveyed(asked, survey()), failure(1), failure(2))
    failing = Counting(Together([acting]), held)  # type: ignore[arg-type]
    failing.repaired = []
    (ended,) = failing.until_healthy([course(asked, plan(), "up")])
    assert [step.name for step in ended.steps] == ["patch", "launch", "watch", "smoke"]
    assert failing.repaired == [(1, False), (2, False)]
    assert held.told == ["repairing launch 1", "repairing launch 2"]


def repair(found: Survey, asked: Job, *, launch_anyway: bool = False) -> None:
    acting = Failing(Surveyed(asked, found))
    repair = Repair(Together([acting]), Held())  # type: ignore[arg-type]
    repair.repair(Fall(acting, failure()), "up", launch_anyway=launch_anyway)


def test_a_failure_that_no_patch_knows_is_the_end_and_is_told() -> None:
    told = Told()
    with pytest.raises(UnknownFailure):
        repair(survey(journal=[STARTED, UNKNOWN]), job(Answering(), told))
    assert [event.kind for event in told.events] == ["finding"]


def test_of_a_group_whose_launches_are_spent_the_cause_is_told_that_was_its_own() -> None:
    told = [{**UNKNOWN, "cause": cause, "from_outside": True} for cause in ("lost a peer", "was killed")]
    first, second = (
        Failing(Surveyed(job(limits=Limits(max_attempts=1)), survey(journal=[STARTED, outcome])))
        for outcome in told
    )
    repair = Repair(Together([first, second]), Held())  # type: ignore[arg-type]
    killed = replace(failure(), from_outside=True)
    with pytest.raises(BudgetSpent, match="the last cause: was killed"):
        repair._remedy(Fall(second, killed), "up", launch_anyway=False)


def test_an_old_one_that_a_person_may_have_mended_is_launched_again_within_the_budget() -> None:
    found = survey(journal=[STARTED, UNKNOWN])
    repair(found, job(), launch_anyway=True)
    with pytest.raises(BudgetSpent) as raised:
        repair(found, job(limits=Limits(max_attempts=1)), launch_anyway=True)
    assert raised.value.code == "attempts_spent"


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (Change(patch=PATCH, why="finding", evidence=""), ["clean"]),
        (Change(patch=PATCH, why="finding", evidence="", cleanups=("compile_cache",)), ["clean", "clean"]),
        (Change(patch=PATCH, why="finding", evidence="", redownloads=("*",)), ["clean", "discard"]),
    ],
)
def test_a_remedy_stops_and_cleans_before_it_sets(change: Change, names: list[str]) -> None:
    steps = _before(plan(survey(journal=[STARTED])), change, failure())
    assert [step.name for step in steps] == names
    assert all(step.as_json()["effects"] for step in steps)


SHORT = Shortage(
    cards(1).gpus[0], 10, 20, Demand("vLLM", "gpu-memory-utilization", 1, 0.9), 1, (), 0,
    lower=SmallerShare("gpu-memory-utilization", 0.5),
)  # fmt: skip


@pytest.mark.parametrize("consents", [(), ("share-cards",)])
def test_a_launch_goes_on_beside_others_with_the_consent_alone(
    consents: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Crowded(Failing):
        def do(self, steps: Any, stride: object = None) -> Any:
            done.append([step.name for step in steps])
            if steps[-1].name == "clean":
                raise GpuBusy("gpu7", 1, SHORT)

    told, done = Told(), list[list[str]]()
    reading = Surveyed(
        job(Answering(), told, wishes=Wishes(patches=PATCHES, consents=consents)), survey(journal=[STARTED])
    )
    reading._facts = survey().facts
    acting = Crowded(reading)
    waits = Treatment(
        Decision(Change(PATCH, "finding", "", cleanups=("gpu_memory_wait",))), (plan(),), (None,)
    )
    monkeypatch.setattr(Repair, "decide", lambda *_: waits)
    repair = Repair(Together([acting]), Held())  # type: ignore[arg-type]
    if not consents:
        with pytest.raises(GpuBusy):
            repair.repair(Fall(acting, failure()), "up", launch_anyway=False)
        assert [event.kind for event in told.events] == ["finding"]
        return
    repair.repair(Fall(acting, failure()), "up", launch_anyway=False)
    assert done == [["clean", "clean"], ["patch"]]  # what was tried is on record: the same failure is the end
    assert reading._facts is None  # the next plan is made of the cards as they are now
    assert told.events[-1].text.endswith("this launch has arguments.gpu-memory-utilization=0.5")


NOT_FREE = Failure(
    1,
    Seen("exited", exit_code=1),
    Diagnosis(
        verdict="fault",
        finding=Finding(
            patch=PATCH.id, category="gpu_memory", title=PATCH.title, explanation="", confidence="certain"
        ),
        remedy=Remedy(automatic=True, actions=(), advice=("look with nvidia-smi",)),
    ),
)


@pytest.mark.parametrize("mib", [60_000, 2])
def test_where_the_same_want_of_memory_came_back_who_has_it_is_told(mib: int) -> None:
    told = Told()
    gpus = tuple(replace(card, memory_used_mib=mib) if card.index == 3 else card for card in cards().gpus)
    holder = GpuProcess("GPU-3", 8121, "python3", mib, "ml", "python3 train.py")
    found = knowing(
        survey(journal=[STARTED, TRIED, {**STARTED, "launch": 2}]), gpus=Gpus(gpus), gpu_processes=(holder,)
    )
    acting = Failing(
        Surveyed(job(Answering(config_files={"record": {"action": "revert"}, "files": []}), told), found)
    )
    repair = Repair(Together([acting]), Held())  # type: ignore[arg-type]
    with pytest.raises(LaunchFailed) as raised:
        repair.repair(Fall(acting, replace(NOT_FREE, launch=2)), "up", launch_anyway=False)
    panel = next(event for event in told.events if event.kind == "finding").data["panel"]
    assert panel["remedy"].startswith("none: The same failure came back after gpu-memory-not-free")
    if mib == 2:
        assert (raised.value.code, panel["host"]) == ("no_remedy_left", "")
        return
    assert raised.value.code == "gpu_busy"
    assert "pid 8121 (python3 train.py, user ml) holds 60,000 MiB" in panel["host"]
    assert "It is not ours, so it stays" in panel["remedy"]


def test_what_failed_is_told_though_another_host_of_the_group_does_not_answer() -> None:
    class Lost(Surveyed):
        def observe(self, launch: int | None = None) -> Any:
            raise HostError("connection_lost", "gpu8: the connection was lost")

    told = Told()
    failed = Failing(Surveyed(job(Answering(), told), survey()))
    other = Failing(Lost(job(), survey()))
    repair = Repair(Together([failed, other]), Held())  # type: ignore[arg-type]
    with pytest.raises(HostError):
        repair.repair(Fall(failed, failure()), "up", launch_anyway=False)
    assert [event.kind for event in told.events] == ["finding"]
