"""Of the logs of all hosts of a launch the one with the cause is found, and what the others say is folded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchestrator.diagnosis.across import Account, Part, judge
from orchestrator.diagnosis.engine import diagnose_log
from orchestrator.diagnosis.moments import written
from orchestrator.diagnosis.startup import Meeting
from orchestrator.diagnosis.verdict import Diagnosis, Finding, RootCause, Verdict
from orchestrator.engines import registry
from orchestrator.patches.known import Known
from tests import yaml_data
from tests.diagnosis.test_cases import PATCHES

FOLDER = Path(__file__).parent / "across_hosts"
CASES: dict[str, dict[str, Any]] = yaml_data.load(FOLDER / "cases.yaml")
HOSTS = ("alpha", "beta")
VLLM = registry.read("vllm").log
SILENT_SECONDS = 900.0


def account(path: Path) -> Account:
    log = path.read_bytes()
    known = Known(idle_seconds=SILENT_SECONDS)
    diagnosis = diagnose_log([log], grammar=VLLM, known=known, patches=PATCHES)
    root = diagnosis.root_cause
    return Account(diagnosis, written(log.splitlines(), root.line, VLLM) if root else None)


@pytest.mark.parametrize("name", CASES)
def test_case(name: str) -> None:
    case = CASES[name]
    paths = [path for host in HOSTS if (path := FOLDER / f"{name}.{host}.log").exists()]
    accounts = [account(path) for path in paths]
    joint = judge(accounts, VLLM)
    cause = accounts[joint.cause].diagnosis
    assert (joint.verdict, HOSTS[joint.cause], list(joint.parts)) == (
        case["verdict"],
        case["cause"],
        case["parts"],
    )
    assert (joint.apart, joint.untold) == (case.get("apart", False), case.get("untold", False))
    assert joint.unsaid == case.get("unsaid", False)
    assert (cause.finding.patch if cause.finding else None) == case.get("patch")
    assert case.get("text", "") in (cause.root_cause.text if cause.root_cause else "")


def test_every_log_belongs_to_a_case() -> None:
    assert {path.name.split(".")[0] for path in FOLDER.glob("*.log")} == set(CASES)


def told(text: str, process: str = "Worker_TP0", *, patch: str | None = None, **more: Any) -> Diagnosis:
    root = RootCause(text=text, line=1, process=process, exception=text.partition(":")[0], **more)
    finding = patch and Finding(patch=patch, category="other", title="", explanation="", confidence="certain")
    return Diagnosis(verdict="fault" if patch else "unknown_fault", root_cause=root, finding=finding or None)


def quiet(verdict: Verdict = "starting", meeting: Meeting | None = None) -> Diagnosis:
    return Diagnosis(verdict=verdict, meeting=meeting)


WHY, ELSE = told("ValueError: x"), told("TypeError: y")
LOST = told("RuntimeError: Connection closed by peer", role="teardown")
LATE = told("TimeoutError: RPC call to execute_model timed out.", "EngineCore")
CORE = told("KeyError: 'cmpl-1'", "EngineCore")
KNOWN = told("OSError: z", patch="port-in-use")
UNBORN = told(
    "Exception: WorkerProc initialization failed due to", "EngineCore", role="cascade", missing=True
)
WRAPPED = told("RuntimeError: Executor failed.", "EngineCore", role="cascade", missing=True)
WAITS, MET = Meeting("10.0.0.1:29501"), Meeting("10.0.0.1:29501", met=True)


@pytest.mark.parametrize(
    ("first", "second", "cause", "parts"),
    [
        (Account(WHY, 10), Account(ELSE, 20), 0, ["cause", "other"]),
        (Account(WHY, 20), Account(ELSE, 10), 1, ["other", "cause"]),
        (Account(WHY, 11), Account(KNOWN, 12), 1, ["other", "cause"]),
        (Account(CORE, 10), Account(WHY, 11), 1, ["other", "cause"]),
        (Account(CORE, 10), Account(WHY, 19), 0, ["cause", "other"]),
        (Account(WHY), Account(KNOWN), 1, ["other", "cause"]),
        (Account(LOST, 1), Account(WHY, 50), 1, ["follows", "cause"]),
        (Account(LATE, 1), Account(WHY, 50), 1, ["follows", "cause"]),
        (Account(LOST, 1), Account(LATE, 50), 1, ["follows", "cause"]),
        (Account(LATE, 1), Account(quiet(), gone=True), 1, ["follows", "cause"]),
        (Account(WHY, 1), Account(quiet(), gone=True), 0, ["cause", "ended"]),
        (Account(LOST, 1), Account(UNBORN, 2), 1, ["follows", "cause"]),
        (Account(UNBORN, 1), Account(quiet(), 2, gone=True), 1, ["follows", "cause"]),
        (Account(LOST, 2), Account(WRAPPED, 1), 0, ["cause", "follows"]),
        (Account(WHY, 1), Account(quiet(meeting=WAITS)), 0, ["cause", "waits"]),
    ],
)
def test_what_explains_most_counts_then_what_came_first(
    first: Account, second: Account, cause: int, parts: list[Part]
) -> None:
    joint = judge([first, second], VLLM)
    assert (joint.cause, list(joint.parts)) == (cause, parts)


@pytest.mark.parametrize(
    ("verdicts", "together"),
    [
        (["healthy", "hang"], "healthy"),
        (["hang", "starting"], "starting"),
        (["starting", "healthy"], "healthy"),
        (["hang", "hang"], "hang"),
    ],
)
def test_a_launch_stands_still_only_where_all_of_its_hosts_do(
    verdicts: list[Verdict], together: Verdict
) -> None:
    assert judge([Account(quiet(verdict)) for verdict in verdicts], VLLM).verdict == together


def test_a_launch_that_waits_is_kept_by_the_host_that_has_not_come() -> None:
    joint = judge([Account(quiet("hang", WAITS)), Account(quiet("hang"))], VLLM)
    assert (joint.cause, joint.apart) == (1, False)
    assert judge([Account(quiet("hang", WAITS)), Account(quiet("hang", MET))], VLLM).cause == 1


def test_hosts_are_apart_where_all_wait_for_each_other_and_long_enough() -> None:
    assert judge([Account(quiet("hang", WAITS))] * 2, VLLM).apart
    assert not judge([Account(quiet("starting", WAITS))] * 2, VLLM).apart
    assert not judge([Account(quiet("hang", WAITS))], VLLM).apart
