"""What is taken from a host's answer about a deployment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchestrator.base.data_folders import shipped
from orchestrator.hosts.local import LocalHost
from orchestrator.playbook import playbook as playbooks
from orchestrator.programs.journal import read
from orchestrator.survey.journal import History
from orchestrator.survey.observed import Observed, observe


class Answered(LocalHost):
    """A host whose programs answer what they are made to."""

    answer: Mapping[str, Any]

    def script(self, module: str, request: Any, **_: Any) -> Any:
        return self.answer


QUIET: Mapping[str, Any] = {
    "launch": None,
    "process": None,
    "command": None,
    "endpoint": {"host": "127.0.0.1", "port": 8000, "model": None},
    "log": None,
    "health": None,
    "models": [],
    "context": None,
    "listener": None,
    "shm": {"entries": 0, "bytes": 0},
    "journal": [],
    "turn": "",
    "machine": "here",
    "boot_id": "b",
    "state": "/s",
}


PROCESS = {"alive": False, "pid": 1, "started_at": None, "members": [], "exit_code": None}
LISTENER = {"ours": False, "pid": None, "command": None, "user": None, "since": None}


def observed(**answer: Any) -> tuple[Observed, History]:
    kimi = playbooks.find("kimi-k2.5", [shipped("playbooks")])
    with Answered() as host:
        whole = {
            name: {**shape, **answer[name]}
            for name, shape in (("process", PROCESS), ("listener", LISTENER))
            if answer.get(name)
        }
        host.answer = {**QUIET, **answer, **whole}
        return observe(host, kimi)


def test_a_journal_in_a_home_folder_that_machines_share_counts_for_each_of_them_alone() -> None:
    there = {"action": "launch", "launch": 4, "machine": "there"}
    here = {"action": "launch", "launch": 2, "machine": "here"}
    seen, history = observed(journal=[here, there, {"action": "launch", "launch": 7}])
    assert (seen.journal, history.launch, history.attempts) == ((read(here),), 2, 1)
    nothing = observed(journal=[there])
    assert (nothing[0].journal, nothing[1]) == ((), History())


def test_a_record_that_says_nothing_is_kept_for_people_to_see() -> None:
    broken = {"action": "launch", "launch": "x", "machine": "here", "at": "2026-02-20"}
    seen, history = observed(journal=[broken])
    shown = {"at": "2026-02-20", "machine": "here", "action": "unreadable", "record": broken}
    (record,) = seen.journal
    assert (record.as_json(), history) == (shown, History())
