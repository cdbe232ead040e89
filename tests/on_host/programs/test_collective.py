"""Collectives of several ranks: numbers, pairs that cannot talk, and that nothing outlives the test. Torch is a stand-in."""

from __future__ import annotations

import itertools
import os
import tempfile
import threading
from pathlib import Path
from typing import IO, Any

import pytest

from orchestrator.on_host.processes import procs
from orchestrator.on_host.programs import collective
from orchestrator.programs.collective import (
    CollectiveMeeting,
    CollectiveNews,
    CollectiveRun,
    MeasureCollective,
)
from tests.on_host.collectives.asking import request
from tests.ports import free_port
from tests.programs.requests import read_too
from tests.waiting import eventually

WITHOUT = CollectiveRun(name="without_p2p", variables={"NCCL_P2P_DISABLE": "1"})


@pytest.fixture(autouse=True)
def _place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, controller: IO[bytes]) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def told(asked: MeasureCollective) -> list[CollectiveNews]:
    return [asked.read(value) for value in read_too("collective", collective.main)(asked.plain())]


def ranks(folder: Path) -> list[int]:
    """Processes that run in a folder of a test."""
    return [pid for pid in procs.processes() if procs.read_link(f"/proc/{pid}/cwd").startswith(str(folder))]


def test_every_run_is_measured_and_nothing_is_left(tmp_path: Path) -> None:
    runs = (
        CollectiveRun(name="tuned", variables={"STAND_IN_SECONDS": "0.0001"}),
        CollectiveRun(name="untuned", variables={"STAND_IN_SECONDS": "0.01"}),
    )
    tuned, untuned = told(request(2, runs=runs, fallback=WITHOUT))
    assert (tuned.run, untuned.run) == ("tuned", "untuned")
    assert tuned.outcome and untuned.outcome
    assert (tuned.outcome.state, tuned.outcome.at, tuned.outcome.wrong) == ("done", "checked", 0)
    assert (tuned.outcome.torch, tuned.outcome.nccl) == ("2.11.0+standin", "2.27.5")
    assert [timing.bytes for timing in tuned.outcome.measured] == [8192, 1 << 20]
    for fast, slow in zip(tuned.outcome.measured, untuned.outcome.measured, strict=True):
        assert 0.0001 <= fast.seconds < slow.seconds
    assert not ranks(tmp_path) and not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("variables", "python", "at", "code", "words"),
    [
        ({"STAND_IN_NO_CUDA": "1"}, None, "starting", "no_cuda", "torch 2.11.0+standin sees no GPU by CUDA"),
        ({"PYTHONPATH": ""}, None, "starting", "no_torch", "No module named 'torch'"),
        ({"STAND_IN_EXIT": "1"}, None, "ready", "error", "NCCL error: unhandled system error"),
        ({}, "/no/python3", "starting", "no_python", "/no/python3 cannot be started: No such file"),
        ({}, "/bin/false", "starting", "exited", "a rank left with exit status 1: it said nothing"),
    ],
)
def test_a_rank_that_fails_says_why(
    variables: dict[str, str], python: str | None, at: str, code: str, words: str
) -> None:
    (news,) = told(request(2, variables, **({"python": python} if python else {})))
    assert news.outcome
    assert (news.outcome.state, news.outcome.at, news.outcome.code) == ("failed", at, code)
    assert words in (news.outcome.reason or "")


@pytest.mark.parametrize(("fault", "state"), [("STAND_IN_DEAF", "silent"), ("STAND_IN_WRONG", "done")])
def test_the_pair_that_cannot_talk_is_named_and_another_way_is_tried(fault: str, state: str) -> None:
    silent = 6 if state == "silent" else 60  # on a busy machine a rank may need that long to start
    first, *others = told(
        request(4, {fault: "GPU-1,GPU-3"}, fallback=WITHOUT, sizes=(8192,), silent_seconds=silent)
    )
    assert first.outcome
    assert (first.outcome.state, bool(first.outcome.wrong)) == (state, fault == "STAND_IN_WRONG")
    assert first.outcome.at == ("ready" if state == "silent" else "checked")
    pairs = {item.pair: item.outcome for item in others if item.pair}
    assert sorted(pairs) == list(itertools.combinations(range(4), 2))
    bad = [pair for pair, outcome in pairs.items() if outcome and (outcome.state != "done" or outcome.wrong)]
    assert bad == [(1, 3)]
    fallback = others[-1]
    assert fallback.run == "without_p2p" and fallback.outcome
    assert (fallback.outcome.state, fallback.outcome.wrong) == ("done", 0)
    if state == "silent":
        assert "NCCL WARN nothing comes of this peer" in first.outcome.lines


def test_pairs_have_no_more_time_than_they_are_given() -> None:
    *_, last = told(request(4, {"STAND_IN_DEAF": "GPU-0,GPU-1"}, pairs_seconds=0.0, silent_seconds=0.3))
    assert last.untried == 6


@pytest.mark.parametrize("count", range(2, 9))
def test_every_pair_once_and_nobody_twice_at_a_time(count: int) -> None:
    listed = collective.rounds(count)
    assert sorted(itertools.chain(*listed)) == list(itertools.combinations(range(count), 2))
    for pairs in listed:
        assert len(set(itertools.chain(*pairs))) == 2 * len(pairs)


def test_who_measures_goes_and_the_ranks_with_it(tmp_path: Path, controller: IO[bytes]) -> None:
    asked = request(2, {"STAND_IN_DEAF": "GPU-0,GPU-1"}, silent_seconds=60)
    answers: list[Any] = []
    measuring = threading.Thread(target=lambda: answers.extend(collective.main(asked.plain())))
    measuring.start()
    eventually(lambda: len(ranks(tmp_path)) == 2)
    controller.close()
    measuring.join(20)
    assert not measuring.is_alive() and answers == []
    assert not ranks(tmp_path) and not list(tmp_path.iterdir())


def test_a_rank_does_not_outlive_who_started_it(tmp_path: Path) -> None:
    asked = request(2, {"STAND_IN_DEAF": "GPU-0,GPU-1"}, silent_seconds=60)
    child = os.fork()
    if child == 0:
        try:
            list(collective.main(asked.plain()))
        finally:
            os._exit(0)
    eventually(lambda: len([pid for pid in ranks(tmp_path) if pid != child]) == 2)
    os.kill(child, 9)
    os.waitpid(child, 0)
    eventually(lambda: not ranks(tmp_path))


def of_hosts(meeting_port: int, **more: Any) -> list[list[CollectiveNews]]:
    """What two programs tell that measure one collective side by side, as on two hosts."""
    told_by: list[list[CollectiveNews]] = [[], []]
    meetings = [
        CollectiveMeeting(address="127.0.0.1", port=meeting_port, first=first, ranks=2) for first in (0, 1)
    ]

    def measure(number: int) -> None:
        told_by[number] = told(request(1, meeting=meetings[number], **more))

    both = [threading.Thread(target=measure, args=(number,)) for number in (0, 1)]
    for each in both:
        each.start()
    for each in both:
        each.join()
    return told_by


def test_ranks_of_several_hosts_are_counted_through_and_no_pair_of_one_is_tried() -> None:
    for (news,) in of_hosts(free_port()):
        assert news.outcome and news.outcome.state == "done" and news.outcome.measured
    meeting = CollectiveMeeting(address="127.0.0.1", port=free_port(), first=0, ranks=6)
    fault = {"STAND_IN_DEAF": "GPU-0,GPU-1"}
    news = told(request(3, fault, meeting=meeting, silent_seconds=0.5, ready_seconds=5, sizes=()))
    assert [item.pair for item in news] == [None]


@pytest.mark.engine
@pytest.mark.skipif("DEPLOY_TEST_ENGINE" not in os.environ, reason="DEPLOY_TEST_ENGINE names no engine")
def test_a_real_torch_adds_up_over_two_hosts() -> None:
    environment = {"PYTHONPATH": "", "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
    python = os.environ["DEPLOY_TEST_ENGINE"]
    limits = {"ready_seconds": 90, "silent_seconds": 20}
    for (news,) in of_hosts(free_port(), variables=environment, python=python, backend="gloo", **limits):
        assert news.outcome and (news.outcome.state, news.outcome.wrong) == ("done", 0)


@pytest.mark.engine
@pytest.mark.skipif("DEPLOY_TEST_ENGINE" not in os.environ, reason="DEPLOY_TEST_ENGINE names no engine")
def test_a_real_torch_adds_up_on_a_cpu() -> None:
    asked = request(
        2,
        {"PYTHONPATH": "", "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"},
        python=os.environ["DEPLOY_TEST_ENGINE"],
        backend="gloo",
        ready_seconds=90,
        silent_seconds=20,
        sizes=(8192, 64 << 20),  # so far apart that no neighbour's burst turns them round
    )
    (news,) = told(asked)
    assert news.outcome and (news.outcome.state, news.outcome.wrong) == ("done", 0)
    small, large = news.outcome.measured
    assert 0 < small.seconds < large.seconds < 5
