"""The journal folded: incidents, patches in force, outcomes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.programs.journal import FileChange, UnreadableRecord, read
from orchestrator.report.history import words
from orchestrator.survey import journal
from orchestrator.survey.journal import AppliedPatch, History, Outcome, Trusted


def fold(records: list[Any]) -> History:
    return journal.fold(map(read, records))


def was_healthy(records: list[Any], launch: int) -> bool:
    return journal.was_healthy([*map(read, records)], launch)


def usual_seconds(records: list[Any]) -> float | None:
    return journal.usual_seconds(map(read, records))


def sound(record: Any) -> bool:
    return not isinstance(read(record), UnreadableRecord)


def patch(**more: Any) -> dict[str, Any]:
    return {
        "action": "patch",
        "patch": "fp8-kv-mla",
        "folder": "/models/k",
        "files": [{"name": "config.json", "before": "a", "after": "b"}],
        **more,
    }


def launch(number: int) -> dict[str, Any]:
    return {"action": "launch", "launch": number, "machine": "m1"}


def outcome(number: int, result: str) -> dict[str, Any]:
    return {"action": "outcome", "launch": number, "result": result, "cause": "ValueError: x"}


def test_nothing_yet() -> None:
    history = fold([])
    assert (history.launch, history.attempts, history.outcome, history.applied) == (None, 0, None, ())


def test_whose_launches_they_are_is_known_where_a_record_says_so() -> None:
    assert fold([launch(1)]).playbook is None
    assert fold([{**launch(1), "playbook": "tiny"}, launch(2)]).playbook == "tiny"
    assert not sound({**launch(1), "playbook": 7})


def test_a_patch_that_was_withdrawn_counts_as_not_tried() -> None:
    revert = {"action": "revert", "patch": "fp8-kv-mla", "folder": "/models/k", "withdrawn": True}
    first = fold([launch(1), patch(way="a"), revert])
    assert (first.applied, first.tried, first.attempts) == ((), {}, 1)
    second = fold([launch(1), patch(way="a"), patch(way="b"), revert])
    assert second.tried == {"fp8-kv-mla": ("a",)}


def test_attempts_count_through_failures_and_start_anew_when_healthy() -> None:
    records = [launch(1), outcome(1, "failed"), launch(2), outcome(2, "failed"), launch(3)]
    assert fold(records).attempts == 3
    assert fold(records).outcome is None
    assert fold([*records, outcome(3, "healthy")]).attempts == 0


def test_a_person_who_stops_starts_a_new_incident_and_a_remedy_that_stops_does_not() -> None:
    records = [launch(1), outcome(1, "failed")]
    assert fold([*records, {"action": "stop"}]).attempts == 1
    assert fold([*records, {"action": "stop", "by_person": True}]).attempts == 0


def test_a_patch_is_unconfirmed_until_a_launch_is_healthy() -> None:
    records = [launch(1), outcome(1, "failed"), patch(), launch(2)]
    assert [one.confirmed for one in fold(records).applied] == [False]
    assert fold(records).tried == {"fp8-kv-mla": ("",)}
    healthy = fold([*records, outcome(2, "healthy")])
    assert [one.confirmed for one in healthy.applied] == [True]
    assert healthy.tried == {}
    assert healthy.outcome == Outcome(2, "healthy", "ValueError: x")


def test_an_outcome_of_an_older_launch_says_nothing_about_the_last_one() -> None:
    assert fold([launch(1), launch(2), outcome(1, "failed")]).outcome is None


def test_a_patch_put_on_again_keeps_what_it_knew_of_the_other_files() -> None:
    both = [
        {"name": "config.json", "before": "a", "after": "b"},
        {"name": "hf_quant_config.json", "before": "c", "after": "d"},
    ]
    again = [{"name": "config.json", "before": "a2", "after": "b2", "symlink": "../x"}]
    (applied,) = fold([patch(files=both, flags={"--x": "1"}), patch(files=again)]).applied
    assert applied.flags == {"--x": "1"}
    assert applied.files == (
        FileChange(name="hf_quant_config.json", before="c", after="d"),
        FileChange(name="config.json", before="a2", after="b2", symlink="../x"),
    )


def test_reverting_takes_flags_and_variables_back_too() -> None:
    records = [patch(flags={"--kv-cache-dtype": None}, environment={"A": "1"}, files=[])]
    assert fold(records).flags == {"--kv-cache-dtype": None}
    assert fold(records).environment == {"A": "1"}
    gone = fold([*records, {"action": "revert", "patch": "fp8-kv-mla"}])
    assert (gone.applied, gone.flags, gone.tried) == ((), {}, {"fp8-kv-mla": ("",)})


def test_each_folder_has_its_own_patches() -> None:
    both = [patch(folder="/models/a"), patch(folder="/models/b")]
    assert [one.folder for one in fold(both).applied] == ["/models/a", "/models/b"]
    assert [one.folder for one in fold(both).within("/models/a").applied] == ["/models/a"]
    left = fold([*both, {"action": "revert", "patch": "fp8-kv-mla", "folder": "/models/b"}])
    assert [one.folder for one in left.applied] == ["/models/a"]


def test_a_patch_is_remembered_with_what_it_was_for_and_when() -> None:
    asked = patch(cause="ValueError: x", way="remove /kv_cache_scheme", files=[])
    (applied,) = fold([launch(3), asked]).applied
    expected = AppliedPatch("fp8-kv-mla", "/models/k", cause="ValueError: x", way=asked["way"], launch=3)
    assert applied == expected
    assert fold([patch()]).applied == (
        AppliedPatch(
            "fp8-kv-mla", "/models/k", files=(FileChange(name="config.json", before="a", after="b"),)
        ),
    )
    assert fold([{"action": "patch", "patch": "p", "folder": "/m"}]).applied == (AppliedPatch("p", "/m"),)


def test_a_patch_put_on_again_stays_confirmed_and_adds_to_its_settings() -> None:
    before = [launch(1), patch(flags={"--x": "1"}, environment={"A": "1"}), launch(2), outcome(2, "healthy")]
    (applied,) = fold([*before, patch(flags={"--y": None}, environment={"B": "2"})]).applied
    assert applied.confirmed
    assert applied.flags == {"--x": "1", "--y": None}
    assert applied.environment == {"A": "1", "B": "2"}


def test_the_ways_of_each_patch_are_counted_apart_and_in_order() -> None:
    records = [
        patch(way="a"),
        {"action": "revert", "patch": "fp8-kv-mla"},
        patch(way="b"),
        patch(patch="other", way="c"),
    ]
    assert fold(records).tried == {"fp8-kv-mla": ("a", "b"), "other": ("c",)}


def test_a_launch_needs_cleaning_until_it_is_stopped() -> None:
    assert fold([]).cleaned
    assert fold([launch(1)]).cleaned is False
    assert fold([launch(1), outcome(1, "failed")]).cleaned is False
    assert fold([launch(1), {"action": "stop"}]).cleaned is True


def test_a_launch_that_is_stopped_was_stopped_unless_it_had_failed_before() -> None:
    stop = {"action": "stop"}
    assert fold([launch(1), stop]).outcome == Outcome(1, "stopped")
    assert fold([launch(1), {**stop, "anew": True}]).outcome == Outcome(1, "stopped", halfway=True)
    assert fold([launch(1), outcome(1, "healthy"), stop]).outcome == Outcome(1, "stopped")
    assert fold([launch(1), outcome(1, "failed"), stop]).outcome == Outcome(1, "failed", "ValueError: x")
    assert fold([stop]).outcome is None


def test_how_a_launch_failed_is_told_with_the_patch_that_knew_it() -> None:
    record = {"action": "outcome", "launch": 1, "result": "hang", "finding": "nccl-hang"}
    assert fold([launch(1), record]).outcome == Outcome(1, "hang", "", "nccl-hang")


def killed(number: int) -> dict[str, Any]:
    return {**outcome(number, "failed"), "from_outside": True}


def test_launches_killed_from_outside_are_counted_once_each_within_an_incident() -> None:
    once = [launch(1), killed(1)]
    assert (fold(once).killed, fold(once).outcome) == (1, Outcome(1, "failed", "ValueError: x", None, True))
    assert fold([*once, killed(1)]).killed == 1  # looked at a second time
    assert fold([*once, launch(2), outcome(2, "failed")]).killed == 1
    twice = [*once, launch(2), killed(2)]
    assert fold(twice).killed == 2
    by_person = {"action": "stop", "by_person": True}
    assert fold([*twice, by_person]).killed == 0
    assert fold([*twice, launch(3), outcome(3, "healthy")]).killed == 0
    assert fold([*twice, {"action": "revert", "patch": "p", "by_person": True}]).killed == 0


def test_a_person_who_reverts_starts_a_new_incident_and_a_remedy_that_is_taken_back_does_not() -> None:
    records = [launch(1), outcome(1, "failed"), patch(), launch(2)]
    revert = {"action": "revert", "patch": "fp8-kv-mla"}
    undone = fold([*records, revert])
    assert (undone.attempts, undone.applied, undone.tried) == (2, (), {"fp8-kv-mla": ("",)})
    undone = fold([*records, patch(patch="other"), {**revert, "by_person": True}])
    assert (undone.attempts, [one.patch for one in undone.applied], undone.tried) == (0, ["other"], {})


def test_a_person_who_stops_may_try_every_way_again() -> None:
    assert fold([patch(), {"action": "stop", "by_person": True}]).tried == {}


CONSENT = {
    "action": "consent",
    "consent": "trust-remote-code",
    "repository": "org/model",
    "revision": "main",
    "commit": "c0ffee",
    "code": {"modeling.py": "5ad"},
}


def test_code_is_trusted_as_it_was_shown_and_nothing_else_counts_as_trust() -> None:
    trusted = Trusted("org/model", "main", "c0ffee", {"modeling.py": "5ad"})
    by_hand = Trusted("org/model", "main", None, {"modeling.py": "5ad"})
    assert fold([CONSENT]).trusted == (trusted,)
    assert fold([CONSENT, {**CONSENT, "commit": None}]).trusted == (trusted, by_hand)
    assert fold([{**CONSENT, "consent": "open-port"}]).trusted == ()
    assert fold([{key: value for key, value in CONSENT.items() if key != "code"}]).trusted == ()


def test_a_launch_was_healthy_if_a_completion_ever_came_out_of_it() -> None:
    records = [launch(1), outcome(1, "healthy"), launch(2), outcome(2, "failed")]
    assert was_healthy(records, 1)
    assert not was_healthy(records, 2)
    assert not was_healthy([], 1)
    assert was_healthy([*records[:2], {"action": "stop"}, outcome(1, "failed")], 1)
    assert was_healthy([launch(1), {"note": 1}, outcome(1, "healthy"), "x"], 1)


def test_a_number_that_was_given_again_is_another_launch() -> None:
    """The state folder was removed, and the journal kept."""
    assert not was_healthy([launch(1), outcome(1, "healthy"), launch(1), outcome(1, "failed")], 1)


def test_records_of_another_kind_change_nothing() -> None:
    assert fold([launch(1), {"action": "clean"}, {"note": 1}]) == fold([launch(1)])


def test_how_long_a_launch_took_the_last_time() -> None:
    def at(minute: int, record: dict[str, Any]) -> dict[str, Any]:
        return {**record, "at": f"2026-02-20T21:{minute:02}:00.000+00:00"}

    assert usual_seconds([at(1, launch(1)), at(2, outcome(1, "failed"))]) is None
    records = [at(1, launch(1)), at(4, outcome(1, "healthy")), at(9, outcome(1, "healthy"))]
    assert usual_seconds(records) == 180.0
    assert usual_seconds([*records, at(10, launch(2)), at(12, outcome(2, "healthy"))]) == 120.0
    assert usual_seconds([launch(1), outcome(1, "healthy")]) is None
    here = {**launch(3), "at": "2026-02-20T21:13:00"}  # no zone: no moment to reckon with
    assert usual_seconds([*records, here, at(14, outcome(3, "healthy"))]) == 180.0
    assert (
        usual_seconds(
            [at(1, launch(1)), {"note": 1}, at(2, {"action": "stop"}), at(4, outcome(1, "healthy"))]
        )
        == 180.0
    )


GOOD = [launch(1), outcome(1, "failed"), patch(flags={"--a": None}, environment={"B": "1"}), launch(2)]


@pytest.mark.parametrize(
    "broken",
    [
        {"action": "launch"},
        {"action": "launch", "launch": "x"},
        {"action": "launch", "launch": "7"},
        {"action": "launch", "launch": True},
        {"action": "launch", "launch": 0},
        {"action": "launch", "launch": -1},
        {"action": "launch", "launch": 1 << 31},
        {"action": "launch", "launch": float("inf")},
        {"action": "outcome", "launch": 2},
        {"action": "outcome", "launch": [2], "result": "healthy"},
        {"action": "outcome", "launch": 2, "result": None},
        {"action": "outcome", "launch": 2, "result": "failed", "finding": ["x"]},
        {"action": "patch", "patch": "x"},
        {"action": "patch", "folder": "/models/k"},
        {"action": "patch", "patch": {}, "folder": "/models/k"},
        patch(files=3),
        patch(files=[3]),
        patch(files=[{"name": "config.json"}]),
        patch(files=[{"name": "../../.ssh/authorized_keys", "before": "a", "after": "b"}]),
        patch(files={"name": "config.json"}),
        patch(files=[{"name": "config.json", "before": "a", "after": "b", "symlink": 3}]),
        patch(flags=["--x"]),
        patch(flags={"--x": 3}),
        patch(environment=None),
        patch(cause=3),
        {"action": "revert"},
        {"action": "revert", "patch": ["fp8-kv-mla"]},
        {"action": "revert", "patch": "fp8-kv-mla", "folder": 3},
        {"action": "stop", "ended": 3},
        {**CONSENT, "code": ["modeling.py"]},
        {"action": ["launch"], "launch": 7},
        {"action": None},
        {},
        [],
        "launch",
        None,
        3.5,
    ],
)
def test_a_broken_record_changes_nothing(broken: Any) -> None:
    assert not sound(broken)
    assert fold([*GOOD[:2], broken, *GOOD[2:]]) == fold(GOOD)
    assert usual_seconds([broken, *GOOD]) is None


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["a", "config.json", "healthy"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
KEYS = ("launch", "result", "cause", "finding", "patch", "folder", "files", "flags", "environment", "way", "at", "machine", "by_person", "why", "ended",
        "shm_removed", "survivors")  # fmt: skip
FILE = st.fixed_dictionaries({}, optional=dict.fromkeys(("name", "before", "after", "symlink"), JSON))
RECORD = st.fixed_dictionaries(
    {
        "action": st.sampled_from(["launch", "outcome", "patch", "revert", "stop", "stop_failed", "clean"])
        | JSON
    },
    optional={key: JSON | st.lists(FILE, max_size=2) | st.integers(1, 3) for key in KEYS},
)


@settings(max_examples=60, deadline=None)
@given(st.lists(RECORD | JSON, max_size=6))
def test_no_record_does_more_than_be_passed_over(records: list[Any]) -> None:
    assert isinstance(fold(records), History)
    usual_seconds(records)
    for record in records:
        words(read(record))
