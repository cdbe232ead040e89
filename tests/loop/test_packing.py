"""Of a launch on several hosts that failed, nobody knows why, one bundle has what each of them has."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.base.errors import HostError
from orchestrator.diagnosis.verdict import Diagnosis, Finding
from orchestrator.job import Job
from orchestrator.launch.failure import Failure
from orchestrator.launch.watch import Seen
from orchestrator.loop.acting import Acting
from orchestrator.loop.consents import Consents
from orchestrator.loop.packing import with_bundle
from orchestrator.loop.reading import Reading
from orchestrator.loop.together import Fall
from orchestrator.programs.stacks import DumpFile
from tests.jobs import Answering, job
from tests.steps.doing import plan

UNKNOWN = Failure(3, Seen("exited", 1), Diagnosis(verdict="unknown_fault"))


class Logging(Reading):
    """One whose log is given; None: the host does not answer any more."""

    def __init__(self, asked: Job, log: bytes | None) -> None:
        super().__init__(asked)
        self.log = log

    def logs(self, **asked: Any) -> Iterator[bytes]:
        if self.log is None:
            raise HostError("unreachable", "gpu8: no answer")
        yield self.log + str(asked["launch"]).encode()


def acting(name: str, log: bytes | None) -> Acting:
    host = Answering()
    host.name = name
    return Acting(Logging(job(host), log), Consents(), lambda: None)


def packed(fall: Fall, *hosts: Acting) -> dict[str, bytes]:
    told = with_bundle(fall, hosts, [plan()] * len(hosts)).failure.bundle
    with tarfile.open(str(told)) as opened:
        return {"/".join(Path(each.name).parts[1:]): opened.extractfile(each).read() for each in opened}  # type: ignore[union-attr]


@pytest.fixture(autouse=True)
def of_whoever_deploys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


def test_it_has_the_log_of_a_host_that_said_nothing_of_a_failure_and_the_stacks_of_each() -> None:
    first, second = acting("gpu7", b"a\nhf_0123456789 "), acting("gpu8", b"b\n")
    stood = replace(UNKNOWN, dumps=(DumpFile(name="STACK.log", age_seconds=1.0, text="waits"),))
    files = packed(Fall(first, UNKNOWN, (), ((first, stood),)), first, second)
    assert (files["gpu7/vllm.log"], files["gpu8/vllm.log"]) == (b"a\n*** 3", b"b\nNone")
    assert {name.partition("/")[2] for name in files if name.startswith("gpu7")} == {
        "vllm.log",
        "STACK.log",
        "facts.json",
        "plan.json",
        "diagnosis.json",
    }
    assert {name for name in files if name.startswith("gpu8")} == {
        "gpu8/vllm.log",
        "gpu8/facts.json",
        "gpu8/plan.json",
    }
    assert json.loads(files["gpu7/diagnosis.json"])["verdict"] == "unknown_fault"


def test_of_a_host_that_is_gone_it_says_so() -> None:
    first, second = acting("gpu7", b"a\n"), acting("gpu8", None)
    assert packed(Fall(first, UNKNOWN), first, second)["gpu8/vllm.log"] == b"gpu8: no answer\n"


def test_a_known_failure_and_that_of_a_host_alone_need_none() -> None:
    finding = Finding(patch="x", category="other", title="", explanation="", confidence="certain")
    known = replace(UNKNOWN, diagnosis=Diagnosis(verdict="fault", finding=finding))
    first, second = acting("gpu7", b"a\n"), acting("gpu8", b"b\n")
    assert with_bundle(Fall(first, known), [first, second], [plan()] * 2).failure.bundle is None
    assert with_bundle(Fall(first, UNKNOWN), [first], [plan()]).failure.bundle is None
