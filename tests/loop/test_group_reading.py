"""What the logs of hosts that serve one model together come to, some of which may lack one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

import pytest

from orchestrator.base.errors import DeployError, HostError, UsageError
from orchestrator.base.events import Report
from orchestrator.diagnosis.verdict import Diagnosis
from orchestrator.group.group import Absent
from orchestrator.job import Job
from orchestrator.loop.group_reading import explain, status
from orchestrator.loop.reading import Explained, Reading
from tests.diagnosis.test_across import LOST, WHY, quiet
from tests.jobs import Answering, Told, job

NO_LAUNCH = UsageError("no_launch", "gpu-c: kimi-k2.5 has no launch yet with a log")
GONE = Absent("gpu-d", "worker 3", HostError("host_unreachable", "gpu-d: nobody answers"))


@dataclass(eq=False)
class Log:
    """The log of a host: what it comes to, or why there is none, and when its root cause was written."""

    job: Job
    end: Diagnosis | DeployError
    at: float | None = None

    def explain(self, *, launch: int | None) -> Explained:
        if isinstance(self.end, DeployError):
            raise self.end
        return Explained(self.end, f"/launches/{launch}/vllm.log", gone=True)

    def written(self, _: Explained) -> float | None:
        return self.at


def group(told: Told, **ends: Diagnosis | DeployError | tuple[Diagnosis, float]) -> list[Reading]:
    logs = []
    for name, end in ends.items():
        host = Answering()
        host.name = name
        own = replace(job(host), report=Report(told, name))
        logs.append(Log(own, *end) if isinstance(end, tuple) else Log(own, end))
    return cast("list[Reading]", logs)


def test_the_cause_is_that_of_the_log_which_explains_most() -> None:
    each, joint = explain(group(Told(), a=LOST, b=WHY), (), launch=2)
    assert [explained.path for explained in each.values()] == ["/launches/2/vllm.log"] * 2
    assert (list(each)[joint.cause], joint.parts) == ("b", ("follows", "cause"))


def test_of_two_that_explain_as_much_the_one_that_was_written_first() -> None:
    each, joint = explain(group(Told(), a=(WHY, 50.0), b=(WHY, 10.0)), (), launch=1)
    assert list(each)[joint.cause] == "b"


def test_hosts_without_a_log_are_told_and_the_others_read() -> None:
    told = Told()
    each, joint = explain(group(told, a=quiet("healthy"), c=NO_LAUNCH), [GONE], launch=1)
    assert (list(each), joint.verdict) == (["a"], "healthy")
    assert [event.text for event in told.events] == [NO_LAUNCH.message, GONE.error.message]
    with pytest.raises(UsageError, match="no launch yet"):
        explain(group(told, c=NO_LAUNCH), [GONE], launch=1)


@dataclass(eq=False)
class Standing:
    """A host that was typed as the head, and what the record of its launch says."""

    job: Job
    group: dict[str, object] | None
    role: str = "head"

    def status(self) -> dict[str, object]:
        return {"host": "gpu-b", "state": "computing", "exit_code": None, "group": self.group}


@pytest.mark.parametrize(
    ("group", "role"),
    [({"hosts": ["a", "gpu-b", "c"], "role": "worker 1"}, "worker 1"), (None, "head")],
    ids=["of a launch that has more hosts", "without a launch"],
)
def test_the_role_of_a_host_is_that_which_its_record_says(group: dict[str, object] | None, role: str) -> None:
    (host,) = status(cast("list[Reading]", [Standing(job(), group)]), ())["hosts"]
    assert host["role"] == role
