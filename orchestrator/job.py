"""What is to be deployed on which host, and what did the person allow and ask for?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from orchestrator.base.errors import DeployError
from orchestrator.base.events import Report
from orchestrator.base.limits import Limits
from orchestrator.hosts.host import Host
from orchestrator.models.published import Published
from orchestrator.plan.wishes import Wishes
from orchestrator.playbook.choice import Choice
from orchestrator.playbook.playbook import Playbook
from orchestrator.programs.ask import ask
from orchestrator.programs.journal import JournalRecord
from orchestrator.programs.record import Record


@dataclass(frozen=True)
class Job:
    """One playbook on one host, as one command asks for it.

    `command` gives the command line by which a person asks a verb of the same deployment. `ask` puts a question to a person,
    None where nobody can be asked. `lasting` tells whether the host is there after this run, so that it is worth telling
    what can be done on it. `published` is a model without a playbook, as the Hub has it: how it is launched is chosen by what the host is;
    `unread` is why the Hub could not be read.
    """

    host: Host
    playbook: Playbook
    report: Report
    wishes: Wishes
    command: Callable[[str], str]
    limits: Limits = field(default_factory=Limits)
    ask: Callable[[str], bool] | None = None
    lasting: bool = True
    published: Published | None = None
    unread: DeployError | None = None
    spread: tuple[Choice, ...] = ()
    """How the model is spread over several hosts, and why."""
    reopen: Callable[[], Host] | None = None
    """Another connection to the host, to learn whether it is there; None where that cannot be had."""
    group: tuple[str, ...] = ()
    """The names of those hosts as they were typed, the head's first; none where the model lies on one host."""

    @property
    def name(self) -> str:
        """Under which state, lock and journal are kept on the host."""
        return self.playbook.instance

    @property
    def consents(self) -> tuple[str, ...]:
        """Every consent that was given, by the playbook or by the person."""
        return (*self.playbook.consents, *self.wishes.consents)

    @property
    def ready_seconds(self) -> float:
        """How long a launch may take to its first completion."""
        return self.limits.ready_seconds or float(self.playbook.ready_timeout)

    def allowing(self, consent: str) -> Job:
        """The same once the person gave this consent."""
        return replace(self, wishes=replace(self.wishes, consents=(*self.wishes.consents, consent)))

    def record(self, record: JournalRecord) -> None:
        """Append a record to the journal on the host."""
        ask(self.host, Record(instance=self.name, record=record.as_json()))
