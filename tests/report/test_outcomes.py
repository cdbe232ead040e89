"""What a command came to on many hosts, in one line."""

from __future__ import annotations

from orchestrator.base.errors import DeployError, HostError, LaunchFailed, PreflightRefused
from orchestrator.report.outcomes import HostEnd, groups_json, in_groups, not_begun, of_error

GOOD = [HostEnd(f"gpu{number:02}", 0, "healthy") for number in range(5, 102)]
FAILED = of_error("gpu03", LaunchFailed("no_remedy_left", "", patch="fp8-kv-mla"))
LOST = [of_error(name, HostError("host_unreachable", "")) for name in ("gpu17", "gpu44")]


def test_like_outcomes_are_told_together() -> None:
    told = in_groups([LOST[0], *GOOD, FAILED, LOST[1]])
    assert told == "97 healthy; 2 unreachable: gpu17, gpu44; 1 failed: fp8-kv-mla on gpu03"


def test_many_hosts_of_an_outcome_are_counted_and_a_program_hears_of_all() -> None:
    names = [f"gpu{number}" for number in range(12)]
    ends = [of_error(name, PreflightRefused("gpu_busy", "")) for name in names]
    assert in_groups(ends) == f"12 refused: gpu_busy on {', '.join(names[:8])} and 4 more"
    assert groups_json(ends) == [{"outcome": "refused", "why": "gpu_busy", "exit_code": 4, "hosts": names}]


def test_what_was_not_begun_and_mistakes_of_ours_are_told_too() -> None:
    ours = of_error("a", DeployError("internal", ""))
    assert in_groups([ours, not_begun("b"), not_begun("c")]) == "2 not begun; 1 internal error: internal on a"
