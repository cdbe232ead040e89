"""Whose a process is, judged on tables of processes."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.on_host.kinds import launches, registry
from orchestrator.on_host.kinds.kind import Launch, Table
from orchestrator.on_host.processes.procs import Process
from orchestrator.on_host.refusal import Refusal
from orchestrator.on_host.state.sightings import Sightings
from orchestrator.on_host.state.state import machine_id, write_json

LAUNCH = Launch(1, Path("/state/launches/1"), registry.USUAL, "mine", "boot", 100, 5000, {})


def process(pid: int, parent: int, session: int, start: int = 6000, state: str = "S") -> Process:
    return Process(pid, parent, session, start, state, 1, "x")


SUPERVISOR = process(100, 1, 100, 5000)
SERVER = process(101, 100, 100)
WORKER = process(102, 101, 100)
ORPHAN = process(102, 1, 100)
OTHER = process(300, 1, 300)


def no_outputs(pid: int) -> set[str]:
    return set()


def members(
    *there: Process,
    marked: dict[int, str] | None = None,
    printing: tuple[int, ...] = (),
    seen: Collection[tuple[int, int]] = (),
    boot: str = "boot",
    own: int = 999,
    record: dict[str, Any] | None = None,
) -> list[int]:
    def outputs(pid: int) -> set[str]:
        return {"/state/launches/1/vllm.log"} if pid in printing else set()

    table = Table(boot, {one.pid: one for one in there}, marked or {}, outputs, own)
    launch = replace(LAUNCH, seen=Sightings(frozenset(seen)), record={"log": "/x/vllm.log", **(record or {})})
    return [one.pid for one in launches.members(launch, table)]


@pytest.mark.parametrize(
    ("recorded", "name"),
    [("/x/server.log", "server.log"), ("/x/exit", "engine.log"), (None, "engine.log"), (7, "engine.log")],
)
def test_the_log_of_a_launch(tmp_path: Path, recorded: object, name: str) -> None:
    """Always in its folder, whatever its record says."""
    launch = replace(LAUNCH, folder=tmp_path, record={"log": recorded})
    assert launch.log == tmp_path / name
    (tmp_path / "kept.log").touch()
    assert launch.log == tmp_path / ("kept.log" if name == "engine.log" else name)


def test_the_session_of_our_living_supervisor() -> None:
    assert members(SUPERVISOR, SERVER, WORKER, OTHER) == [100, 101, 102]


def test_a_supervisor_that_nobody_reaped_still_vouches_for_its_session() -> None:
    dead = process(100, 1, 100, 5000, "Z")
    assert members(dead, ORPHAN) == [102]


def test_the_dead_are_no_members() -> None:
    assert members(SUPERVISOR, process(101, 100, 100, state="Z")) == [100]


def test_a_reused_pid_is_not_ours_nor_is_its_session() -> None:
    assert members(process(100, 1, 100, 7000), process(101, 100, 100)) == []


def test_a_reused_pid_does_not_hide_a_marked_process() -> None:
    assert members(process(100, 1, 100, 7000), process(400, 1, 400), marked={400: "mine"}) == [400]


def test_a_session_without_its_leader_needs_a_witness() -> None:
    assert members(ORPHAN, process(103, 1, 100)) == []
    assert members(ORPHAN, process(103, 1, 100), marked={103: "mine"}) == [102, 103]
    assert members(ORPHAN, process(103, 1, 100), printing=(102,)) == [102, 103]


def test_who_only_prints_into_our_log_is_not_ours() -> None:
    """As `tee -a`, a script of the user's, or a server of theirs that appends to it."""
    assert members(SUPERVISOR, OTHER, process(301, 300, 300), printing=(300, 301)) == [100]
    assert members(OTHER, printing=(300,)) == []
    assert members(process(100, 1, 100, 7000), process(101, 100, 100), printing=(101,)) == []


def test_who_was_seen_among_ours_stays_ours() -> None:
    """An orphan in a session of its own whose environment is gone, and what it starts then."""
    seen = {(300, OTHER.start_time)}
    assert members(OTHER, process(301, 300, 301), process(302, 1, 302), seen=seen) == [300, 301]
    assert members(process(300, 1, 300, OTHER.start_time + 1), seen=seen) == []
    assert members(OTHER, seen=seen, boot="another") == []


def test_a_session_without_its_leader_is_ours_where_one_of_it_was_seen() -> None:
    assert members(ORPHAN, process(103, 1, 100), seen={(103, 6000)}) == [102, 103]


def test_descendants_that_left_the_session() -> None:
    apart = process(200, 101, 200)
    deeper = process(201, 200, 201)
    assert members(SUPERVISOR, SERVER, apart, deeper, OTHER) == [100, 101, 200, 201]


def test_a_marked_process_in_a_session_of_its_own_brings_its_children() -> None:
    assert members(OTHER, process(301, 300, 300), marked={300: "mine"}) == [300, 301]


@pytest.mark.parametrize("older", [False, True])
@pytest.mark.parametrize("there", [(SUPERVISOR, SERVER), (ORPHAN,), ()])
def test_whoever_copied_the_environment_is_not_ours(there: tuple[Process, ...], older: bool) -> None:
    """`env $(cat /proc/PID/environ | ...) python`, in a shell of the user's, with what it starts."""
    shell = process(300, 1, 300, 4000 if older else 7000)
    copied = process(301, 300, 300, 7001)
    child = process(302, 301, 300, 7002)
    marked = {301: "mine", 302: "mine"}
    ours = [100, 101] if SUPERVISOR in there else []
    assert members(*there, shell, copied, child, marked=marked, record={"adopters": []}) == ours
    of_an_older_release = members(*there, shell, copied, child, marked=marked)
    assert of_an_older_release == ([*ours, 301, 302] if older else ours)


def test_an_orphan_is_ours_whoever_adopts_it() -> None:
    reaper = process(50, 1, 50, 4000)
    adopted = process(400, 50, 400)
    marked = {400: "mine"}
    record = {"adopters": [[50, 4000]]}
    assert members(reaper, replace(SUPERVISOR, parent=50), adopted, marked=marked) == [100, 400]
    assert members(
        reaper, replace(SUPERVISOR, parent=50), adopted, marked=marked, record={"adopters": []}
    ) == [
        100,
        400,
    ]
    assert members(reaper, adopted, marked=marked, record=record) == [400]
    assert members(replace(reaper, start_time=4001), adopted, marked=marked, record=record) == []


def test_the_marker_of_another_launch_is_not_ours() -> None:
    assert members(OTHER, marked={300: "mine-2"}) == []


def test_nothing_outlives_a_boot() -> None:
    assert members(SUPERVISOR, SERVER, marked={101: "mine"}, boot="another") == []


def test_whoever_asks_and_its_ancestors_are_spared() -> None:
    asking = process(500, 102, 100)
    assert members(SUPERVISOR, SERVER, WORKER, asking, process(103, 101, 100), own=500) == [103]


def test_a_launch_cut_off_before_its_pid_was_recorded_is_found_by_its_marker() -> None:
    cut_off = Launch(1, Path("/state/launches/1"), registry.USUAL, "mine", "boot", None, None, {})
    table = Table("boot", {300: OTHER}, {300: "mine"}, no_outputs, 999)
    assert [one.pid for one in launches.members(cut_off, table)] == [300]


@pytest.mark.parametrize(("start", "found"), [(5000, True), (5001, False)])
def test_supervisor(start: int, found: bool) -> None:
    one = process(100, 1, 100, start)
    table = Table("boot", {100: one}, {}, no_outputs, 999)
    assert (launches.supervisor(LAUNCH, table) == one) is found


def record(state: Path, number: int, machine: str, marker: str, **more: Any) -> None:
    folder = state / "launches" / str(number)
    folder.mkdir(parents=True)
    write_json(folder / "process.json", {"machine": machine, "boot_id": "boot", "marker": marker, **more})


def test_launches_of_another_machine_in_a_shared_home_are_not_seen(tmp_path: Path) -> None:
    record(tmp_path, 9, machine_id(), "a")
    record(tmp_path, 10, machine_id(), "b")
    record(tmp_path, 11, "another machine", "c")
    (tmp_path / "launches" / "12").mkdir()
    (tmp_path / "launches" / "notes.txt").touch()
    assert launches.numbers(tmp_path) == [9, 10, 11, 12]
    assert [one.number for one in launches.launches(tmp_path)] == [9, 10]
    assert launches.load(tmp_path, 11) is None


def test_records_of_older_releases_name_no_kind(tmp_path: Path) -> None:
    record(tmp_path, 1, machine_id(), "a")
    (launch,) = launches.launches(tmp_path)
    assert launch.kind is registry.USUAL


@pytest.mark.parametrize("kind", ["of a later release", ["nohup"], None, ""])
def test_a_launch_of_a_kind_that_is_not_known_is_not_passed_over(tmp_path: Path, kind: Any) -> None:
    """It may live, and a second engine would be started beside it."""
    record(tmp_path, 1, machine_id(), "a", kind=kind)
    with pytest.raises(Refusal, match=f"{tmp_path}/launches/1 .*{re.escape(repr(kind))}") as no:
        launches.launches(tmp_path)
    assert no.value.code == "launch_kind"
    record(tmp_path, 2, "another machine", "b", kind=kind)
    assert launches.load(tmp_path, 2) is None


def test_the_living_launch_is_chosen_before_the_latest(tmp_path: Path) -> None:
    record(tmp_path, 1, machine_id(), "old")
    record(tmp_path, 2, machine_id(), "new")
    nobody = Table("boot", {300: OTHER}, {}, no_outputs, 999)
    living = Table("boot", {300: OTHER}, {300: "old"}, no_outputs, 999)
    assert [
        one.number if (one := launches.choose(tmp_path, number, at)) else None
        for number, at in [(None, nobody), (None, living), (2, living), (3, living)]
    ] == [2, 1, 2, None]
    assert launches.choose(tmp_path / "none", None, nobody) is None
