"""What a job says of itself, and that a consent is given to the job alone that it was asked for."""

from __future__ import annotations

from orchestrator.base.data_folders import shipped
from orchestrator.base.events import Event, Report
from orchestrator.base.limits import Limits
from orchestrator.hosts.local import LocalHost
from orchestrator.job import Job
from orchestrator.plan.wishes import Wishes
from orchestrator.playbook import playbook as playbooks

KIMI = playbooks.find("kimi-k2.5", [shipped("playbooks")])


class Nowhere:
    def show(self, event: Event) -> None: ...


def job(limits: Limits | None = None) -> Job:
    report = Report(Nowhere(), "gpu7")
    with LocalHost() as host:
        return Job(host, KIMI, report, Wishes(consents=("linger",)), str, limits or Limits())


def test_consents_are_the_playbooks_and_the_persons() -> None:
    asked = job()
    assert asked.consents == (*KIMI.consents, "linger")
    assert asked.allowing("foreign-folder").consents == (*KIMI.consents, "linger", "foreign-folder")
    assert asked.consents == (*KIMI.consents, "linger")


def test_the_persons_limit_goes_before_the_playbooks() -> None:
    assert job().ready_seconds == KIMI.ready_timeout
    assert job(Limits(ready_seconds=2.5)).ready_seconds == 2.5
