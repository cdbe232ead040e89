"""Jobs on hosts that do not exist, for tests of what is planned and told."""

from __future__ import annotations

from typing import Any

from orchestrator.base.data_folders import shipped
from orchestrator.base.events import Event, Report
from orchestrator.hosts.host import Host
from orchestrator.hosts.local import LocalHost
from orchestrator.job import Job
from orchestrator.patches import catalogue
from orchestrator.plan.wishes import Wishes
from orchestrator.playbook import playbook as playbooks

KIMI = playbooks.find("kimi-k2.5", [shipped("playbooks")])
PATCHES = catalogue.load([shipped("patches")])


class Told:
    """What was told, as events."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def show(self, event: Event) -> None:
        self.events.append(event)


class Answering(LocalHost):
    """Answers each program with what it is given, and knows what was asked."""

    def __init__(self, **answers: Any) -> None:
        super().__init__()
        self.name = "gpu7"
        self.answers = answers
        self.asked: list[tuple[str, Any]] = []

    def script(self, module: str, request: Any, **_: Any) -> Any:
        self.asked.append((module, request))
        return self.answers.get(module)


def job(host: Host | None = None, told: Told | None = None, **more: Any) -> Job:
    """The flagship on gpu7."""
    wishes = more.pop("wishes", Wishes(patches=PATCHES))
    return Job(
        host or Answering(), KIMI, Report(told or Told(), "gpu7"), wishes, "kimi-k2.5 --host gpu7", **more
    )
