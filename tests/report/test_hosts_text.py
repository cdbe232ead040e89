"""What each host of a launch has to do with its failure is said in a sentence."""

from __future__ import annotations

from orchestrator.diagnosis.across import Account, judge
from orchestrator.diagnosis.startup import Meeting
from orchestrator.diagnosis.verdict import Diagnosis, EvidenceLine
from orchestrator.engines import registry
from orchestrator.report.hosts_text import hosts_text
from tests.diagnosis.test_across import LOST, UNBORN, WAITS, WHY, quiet

VLLM = registry.read("vllm").log


def sentences(*diagnoses: Diagnosis) -> list[str]:
    joint = judge([Account(diagnosis) for diagnosis in diagnoses], VLLM)
    return hosts_text(["gpu-a", "gpu-b"], diagnoses, joint)


def test_the_cause_is_on_a_host_and_the_other_waits() -> None:
    assert sentences(WHY, quiet(meeting=WAITS)) == [
        "gpu-a, by 2 logs read together",
        "gpu-b: waits for the others where the ranks meet (10.0.0.1:29501)",
    ]


def test_where_no_log_tells_why_it_is_said_where_to_look() -> None:
    first, second = sentences(quiet(), LOST)
    assert (
        first
        == "gpu-b, by 2 logs read together; it only says that another host is gone, and no log tells why"
    )
    assert second.startswith("gpu-a: ends without a word of a failure")


def test_a_host_that_was_told_to_stop_is_told_as_that() -> None:
    stopping = EvidenceLine(line=9, text="[shutdown] API server: shutdown triggered")
    first, second = sentences(LOST, Diagnosis(verdict="healthy", evidence=(stopping,)))
    assert first == "gpu-b was told to stop; what others say follows from that"
    assert second.startswith("gpu-a: only follows")


def test_who_said_nothing_is_told_beside_what_its_parent_says() -> None:
    first, second = sentences(LOST, UNBORN)
    assert first.startswith("gpu-b, by 2 logs read together; the process that failed there says nothing")
    assert second == "gpu-a: only follows: RuntimeError: Connection closed by peer"


def test_of_hosts_that_do_not_reach_each_other_it_is_said_where_each_was_to_meet() -> None:
    (words,) = sentences(quiet("hang", WAITS), quiet("hang", Meeting("10.9.9.9:29501")))
    assert words.startswith("gpu-a and gpu-b do not reach each other")
    assert "(10.0.0.1:29501, 10.9.9.9:29501). They were given different places." in words
