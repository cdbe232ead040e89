"""How a failed launch is told: in words, and as an error with its exit code."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.base.errors import BudgetSpent, DeployError, LaunchFailed, UnknownFailure
from orchestrator.diagnosis.verdict import Diagnosis, Finding, RootCause
from orchestrator.launch.failure import Failure, GpuBusy, how_it_ended, no_remedy, signal_name
from orchestrator.launch.watch import Seen
from orchestrator.plan.gpu_room import Demand, Shortage
from orchestrator.programs.listener import PortOwner
from orchestrator.programs.smoke import Completion
from tests.surveys import cards, listener

NOTHING = Diagnosis(verdict="starting")
LATE, EXITED, HANGING = Seen("late"), Seen("exited", 1), Seen("hanging")
OWNER: PortOwner = listener(pid=8121, command="sglang", user="ml")


def answer(**more: Any) -> Completion:
    nothing = {
        "text": None,
        "tokens": 0,
        "seconds": 1.0,
        "tokens_per_second": None,
        "context": None,
        "made_before": None,
        "made_after": None,
    }
    failed = {"ok": False, "status": 500, "late": False, "error": "no token"}
    return Completion.model_validate({**nothing, **failed, **more})


SLOW = answer(status=None, late=True, error="none came within 120 s")


def root(text: str = "MyError: x") -> RootCause:
    return RootCause(text=text, line=3, process=None, exception=None)


def found(verdict: Any = "fault", confidence: Any = "certain") -> Diagnosis:
    finding = Finding(patch="mine", category="other", title="It broke", explanation="", confidence=confidence)
    return Diagnosis(verdict=verdict, root_cause=root(), finding=finding)


@pytest.mark.parametrize(
    ("seen", "completion", "asked", "words"),
    [
        (LATE, None, 0, "not healthy in time"),
        (HANGING, None, 0, "the launch stands still: neither a line nor work for longer than this phase takes"),
        (Seen("lingering"), None, 0, "the engine failed and did not end by itself"),
        (Seen("foreign"), None, 0, "somebody else's server answers on the port"),
        (Seen("exited"), None, 0, "the engine ended, nobody knows with which exit status"),
        (EXITED, None, 0, "the engine ended with exit status 1"),
        (Seen("exited", 128), None, 0, "the engine ended with exit status 128"),
        (Seen("exited", 137), None, 0, "the engine was ended by SIGKILL"),
        (EXITED, answer(), 0, "/health answered, the first completion failed: no token"),
        (LATE, SLOW, 0, "/health answers, and none came within 120 s"),
        (LATE, SLOW, 3, "it was up, and none came within 120 s"),
    ],
)  # fmt: skip
def test_the_end_in_words(seen: Seen, completion: Completion | None, asked: int, words: str) -> None:
    assert how_it_ended(seen, completion, asked) == words


def test_a_signal_by_its_name_where_it_has_one() -> None:
    assert (signal_name(9), signal_name(200)) == ("SIGKILL", "signal 200")


def test_the_cause_is_the_logs_else_the_hosts_else_how_it_ended() -> None:
    known = "the kernel killed 1 process"
    token = f"hf_{'a' * 34}"
    assert token not in Failure(1, EXITED, Diagnosis(verdict="fault", root_cause=root(f"Bad {token}"))).cause
    assert Failure(1, EXITED, found(), known=known).cause == "MyError: x"
    assert Failure(1, EXITED, NOTHING, known=known).cause == known
    assert Failure(1, EXITED, NOTHING).cause == "the engine ended with exit status 1"
    assert Failure(1, LATE, NOTHING, SLOW, asked=3).cause.startswith("it was up, and")


@pytest.mark.parametrize(
    ("failure", "hung", "silent"),
    [
        (Failure(1, LATE, NOTHING, SLOW), True, False),
        (Failure(1, LATE, NOTHING, answer()), False, False),
        (Failure(1, EXITED, NOTHING, SLOW), False, False),
        (Failure(1, LATE, NOTHING), False, False),
        (Failure(1, EXITED, NOTHING), False, True),
        (Failure(1, EXITED, Diagnosis(verdict="healthy")), False, True),
        (Failure(1, EXITED, Diagnosis(verdict="unknown_fault")), False, False),
    ],
)
def test_whether_a_completion_is_still_awaited_and_whether_the_log_says_nothing(
    failure: Failure, hung: bool, silent: bool
) -> None:
    assert (failure.hung, failure.silent) == (hung, silent)


@pytest.mark.parametrize(
    ("failure", "kind", "code", "message"),
    [
        (Failure(2, EXITED, found()), LaunchFailed, "no_remedy_left", "gpu7: launch 2 failed: It broke. Tried"),
        (
            Failure(2, EXITED, found(confidence="likely")), LaunchFailed, "no_remedy_left",
            "gpu7: launch 2 failed: likely: It broke. Tried",
        ),
        (Failure(2, HANGING, found("hang")), BudgetSpent, "no_remedy_left", "gpu7: launch 2 hangs: It broke. Tried"),
        (
            Failure(2, Seen("foreign", owner=OWNER), NOTHING), LaunchFailed, "foreign_server",
            "gpu7: launch 2: pid 8121 (sglang, user ml) answers on its port, and it is not ours",
        ),
        (
            Failure(2, Seen("foreign"), NOTHING), LaunchFailed, "foreign_server",
            "gpu7: launch 2: somebody answers on its port, and it is not ours",
        ),
        (
            Failure(2, LATE, NOTHING), BudgetSpent, "not_ready",
            "gpu7: launch 2 was not healthy in time; the last it said: not healthy in time",
        ),
        (
            Failure(2, HANGING, Diagnosis(verdict="hang", root_cause=root("profiling"))), BudgetSpent, "not_ready",
            "gpu7: launch 2 hangs; the last it said: profiling",
        ),
        (
            Failure(2, LATE, NOTHING, SLOW, bundle="/b.tgz"), BudgetSpent, "no_completion",
            "gpu7: launch 2 hangs: /health answers, and none came within 120 s. It goes on. "
            "Log, facts, plan and diagnosis are in /b.tgz",
        ),
        (
            Failure(2, EXITED, Diagnosis(verdict="unknown_fault", root_cause=root("It ended."))), UnknownFailure,
            "unknown_cause", "gpu7: launch 2 failed and no patch knows the cause: It ended",
        ),
        (
            Failure(2, EXITED, NOTHING, bundle="/b.tgz"), UnknownFailure, "unknown_cause",
            "gpu7: launch 2 failed and no patch knows the cause: the engine ended with exit status 1. "
            "Log, facts, plan and diagnosis are in /b.tgz",
        ),
    ],
)  # fmt: skip
def test_the_error_of_a_failure_that_nothing_is_left_to_do_about(
    failure: Failure, kind: type[DeployError], code: str, message: str
) -> None:
    error = no_remedy(failure, "Tried", host="gpu7")
    assert (type(error), error.code, error.message) == (kind, code, message)
    assert error.known == {}


@pytest.mark.parametrize("seen", [LATE, EXITED])
def test_one_that_had_served_is_started_again_by_a_person(seen: Seen) -> None:
    assert no_remedy(Failure(2, seen, NOTHING, SLOW, asked=3), "", host="gpu7").known == {"verb": "restart"}


@pytest.mark.parametrize(("elsewhere", "following"), [((), "nvidia-smi  # on gpu7"), ((1, 2), None)])
def test_cards_that_others_hold_are_told_with_what_would_help(
    elsewhere: tuple[int, ...], following: str | None
) -> None:
    demand = Demand("vLLM", "gpu-memory-utilization", 2, 0.9)
    short = Shortage(cards(1).gpus[0], 10, 20, demand, 1, (), 0, elsewhere)
    error = GpuBusy("gpu7", 3, short)
    assert (error.code, error.next_command, error.known) == ("gpu_busy", following, short.cure)
    assert error.message == f"gpu7: launch 3 failed: {short.sentence}. {short.advice}"
    assert error.short is short
