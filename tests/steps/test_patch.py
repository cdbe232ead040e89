"""What changes are told to do, and that each is written under the lock and told with what it did."""

from __future__ import annotations

from typing import Any

from orchestrator.checkpoint.edits import Edit, Edits
from orchestrator.plan.change import Change
from orchestrator.remedy import apply
from orchestrator.steps.patch import PatchStep
from tests.jobs import PATCHES, Told, job
from tests.steps.doing import do, plan

EDITS = Edits(
    (Edit("config.json", "/a", "remove"),), {"config.json": b'{"a": 1}\n'}, {"config.json": b"{}\n"}
)
FIRST = Change(PATCHES[0], "certain", "", edits=EDITS)
SECOND = Change(PATCHES[1], "finding", "", edits=EDITS, flags={"--seed": None})


def test_each_change_is_told_with_its_reason_and_a_file_once() -> None:
    effects = PatchStep(plan(), (FIRST, SECOND)).effects
    assert effects.words == (
        f"{PATCHES[0].id} (certain): edit config.json",
        f"{PATCHES[1].id} (finding): edit config.json; drop --seed",
    )
    assert effects.files == (f"{plan().folder}/config.json",)
    assert PatchStep(plan(), ()).effects.words == ("nothing",)


def test_each_change_is_written_in_its_order_under_the_lock(monkeypatch: Any) -> None:
    written: list[Any] = []
    monkeypatch.setattr(
        apply, "apply", lambda job, folder, change, *, cause: written.append((folder, change, cause))
    )
    told = Told()
    assert do(PatchStep(plan(), (FIRST, SECOND), "it broke"), job(told=told)) == (None, 2)
    assert written == [(plan().folder, change, "it broke") for change in (FIRST, SECOND)]
    done = [event for event in told.events if event.data.get("state") == "ok"]
    assert [event.text for event in done] == [*PatchStep(plan(), (FIRST, SECOND)).effects.words]
    assert {"patch": PATCHES[0].id, "why": "certain", "diff": FIRST.diff}.items() <= done[0].data.items()
