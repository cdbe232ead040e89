"""How do host, checkpoint and deployment stand before anything is done?"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from orchestrator.facts import engine, machine
from orchestrator.facts.engine import InstalledEngine
from orchestrator.facts.gather import Facts, commands, read
from orchestrator.facts.machine import Machine
from orchestrator.facts.source import Query, Unknown
from orchestrator.hosts.host import Host
from orchestrator.playbook.playbook import Playbook
from orchestrator.programs.ask import ask
from orchestrator.programs.inspect_checkpoint import InspectCheckpoint
from orchestrator.programs.look import Look
from orchestrator.programs.read_facts import ReadFacts
from orchestrator.survey.checkpoint import Checkpoint, checkpoint
from orchestrator.survey.examination import with_environments
from orchestrator.survey.journal import History, Outcome
from orchestrator.survey.observed import Observed, observed, question

LOOK_SECONDS = 30.0
FACTS_SECONDS = 60.0
"""How long the answer to a look may take, and how much longer where commands are asked for facts."""


@dataclass(frozen=True)
class Survey:
    """Everything a plan is made from."""

    facts: Facts
    checkpoint: Checkpoint
    observed: Observed
    history: History
    """With the patches of this checkpoint's folder alone."""
    fresh: bool = True
    """Whether the facts were read together with the rest, not before."""
    supposed: bool = False
    """Whether its cards are only named, and there is no host."""
    unasked: tuple[str, ...] = ()
    """What is not known for want of a host that was asked, in words; none where one was."""

    @property
    def outcome(self) -> Outcome | None:
        """How the last launch ended up; None while nobody has seen it."""
        outcome = self.history.outcome
        return outcome if outcome is not None and outcome.launch == self.observed.launch else None

    @property
    def proven(self) -> bool:
        """Whether a completion came out of the launch that lives: it is not to be ended on suspicion."""
        return self.observed.alive and self.outcome is not None and self.outcome.result == "healthy"

    @property
    def patched(self) -> dict[str, str]:
        """Config files that are as a patch of ours left them, and which patch."""
        now = {name: hashlib.sha256(content).hexdigest() for name, content in self.checkpoint.configs.items()}
        return {
            file.name: applied.patch
            for applied in self.history.applied
            for file in applied.files
            if now.get(file.name) == file.after
        }

    @property
    def hf_endpoint(self) -> str | None:
        """The mirror of the Hub that the host itself is set to."""
        here = self.facts.of(machine.FACT)
        return here.hf_endpoint if isinstance(here, Machine) else None

    @property
    def engine(self) -> InstalledEngine | None:
        installed = self.facts.of(engine.FACT)
        return installed if isinstance(installed, InstalledEngine) else None


def query_of(playbook: Playbook) -> Query:
    """What the host is asked for this playbook; the engine with its environment, but for secrets."""
    environment = {name: setting.value for name, setting in playbook.environment.items()}
    plain = {name: value for name, value in environment.items() if isinstance(value, str)}
    package, together = playbook.kind.package, playbook.node is not None
    return Query(playbook.folder, playbook.engine.interpreter, package, plain, together=together)


def survey(host: Host, playbook: Playbook, *, facts: Facts | None = None) -> Survey:
    """Read everything in one round trip, but for the facts where they are known; changes nothing. A second one looks for the
    engine where it was not found."""
    query = query_of(playbook)
    request = Look(
        checkpoint=InspectCheckpoint(folder=playbook.folder, instance=playbook.instance),
        launch=question(playbook),
        facts=ReadFacts(commands=commands(query)) if facts is None else None,
    )
    looked = ask(host, request, deadline=LOOK_SECONDS if facts else LOOK_SECONDS + FACTS_SECONDS)
    fresh = facts is None
    now, history = observed(looked.launch)
    there = checkpoint(looked.checkpoint)
    if facts is None:
        facts = read(looked.facts or {}, query, own=[member.pid for member in now.members])
        installed = facts.of(engine.FACT)
        wrong = isinstance(installed, Unknown) or not playbook.engine.accepts(installed.version)
        if wrong and playbook.engine.pinned is None:
            facts = with_environments(host, query, facts)
    return Survey(
        facts=facts,
        checkpoint=there,
        observed=now,
        history=history.within(there.folder),
        fresh=fresh,
    )
