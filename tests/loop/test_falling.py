"""Whose failure is a group's: by what the logs of all of its hosts say, and only then by what was seen first."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.diagnosis.verdict import Diagnosis, Finding
from orchestrator.engines import registry
from orchestrator.launch.failure import Failure, no_remedy
from orchestrator.launch.watch import Seen
from orchestrator.loop.falling import as_apart, whose
from tests.diagnosis.test_across import LOST, WAITS, WHY, quiet

VLLM = registry.read("vllm").log
HOSTS = ("gpu-a", "gpu-b")


def ended(diagnosis: Diagnosis, at: float = 0.0, came: float | None = None) -> Failure:
    return Failure(1, Seen("exited", 1, at=at), diagnosis, came=came)


def overheard(diagnosis: Diagnosis) -> Failure:
    return Failure(1, Seen("late"), diagnosis, overheard=True)


LATE = Failure(1, Seen("late", at=5.0), quiet())
SILENT = ended(quiet("starting"), at=9.0, came=9.0)
LIVES = replace(ended(WHY, came=40.0), seen=Seen("lingering"))


@pytest.mark.parametrize(
    ("first", "second", "host"),
    [
        (ended(LOST, 1.0, came=1.0), LIVES, 1),
        (ended(LOST, 1.0, came=1.0), SILENT, 1),
        (ended(LOST, 1.0, came=1.0), overheard(quiet()), 0),
        (ended(WHY, 9.0, came=9.0), ended(WHY, 1.0, came=1.0), 1),
        (overheard(quiet()), LATE, 1),
        (overheard(quiet("healthy")), LATE, 1),
    ],
    ids=["lives", "silent", "untold", "earlier", "late", "other-is-healthy"],
)
def test_whose(first: Failure, second: Failure, host: int) -> None:
    assert whose(HOSTS, [first, second], VLLM)[0] == host


def test_what_the_others_said_is_told() -> None:
    assert whose(HOSTS, [ended(LOST, 1.0), LIVES], VLLM)[1] == (
        "gpu-b, by 2 logs read together",
        "gpu-a: only follows: RuntimeError: Connection closed by peer",
    )
    assert whose(HOSTS, [overheard(quiet(meeting=WAITS)), ended(WHY)], VLLM)[1][1:] == (
        "gpu-a: waits for the others where the ranks meet (10.0.0.1:29501)",
    )
    assert whose(HOSTS, [overheard(quiet()), ended(LOST)], VLLM)[1][1:] == (
        "gpu-a: lives, and says nothing of a failure",
    )


def test_what_a_patch_knows_of_ranks_that_hang_is_not_said_of_those_that_never_met() -> None:
    finding = Finding(
        patch="hang-nccl-start", category="nccl", title="x", explanation="x", confidence="certain"
    )
    hangs = Failure(1, Seen("hanging"), quiet("hang", WAITS).model_copy(update={"finding": finding}))
    assert as_apart(hangs).diagnosis.finding is None
    refused = Failure(1, Seen("exited"), WHY.model_copy(update={"finding": finding}))
    assert as_apart(refused) == refused
    error = no_remedy(as_apart(hangs), "x", host="gpu-a", apart=HOSTS)
    assert (error.code, error.message) == (
        "not_ready",
        "gpu-a: launch 1 hangs: gpu-a and gpu-b do not reach each other",
    )


def test_of_a_host_that_serves_alone_nothing_more_is_to_be_said() -> None:
    assert whose(HOSTS[:1], [ended(LOST)], VLLM) == (0, (), False)


def test_hosts_that_wait_for_each_other_are_told_as_that() -> None:
    waiting = Failure(1, Seen("hanging"), quiet("hang", WAITS))
    number, (sentence,), apart = whose(HOSTS, [waiting, waiting], VLLM)
    assert (number, apart) == (0, True)
    assert sentence.startswith("gpu-a and gpu-b do not reach each other")


def test_a_hang_is_that_of_the_host_which_has_not_come() -> None:
    waiting = Failure(1, Seen("hanging"), quiet("hang", WAITS))
    missing = Failure(1, Seen("hanging"), quiet("hang"))
    assert whose(HOSTS, [waiting, missing], VLLM)[0] == 1
