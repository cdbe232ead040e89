"""How would a host stand that nobody asks: by the names of its cards, or by facts that were saved of it?"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from orchestrator.facts import disk, driver, engine, gpus, machine, topology
from orchestrator.facts.disk import Disk
from orchestrator.facts.gather import Facts
from orchestrator.facts.gpus import Gpus
from orchestrator.facts.machine import Machine
from orchestrator.facts.saved import Saved
from orchestrator.facts.source import Fact, Unknown
from orchestrator.playbook.endpoint import place_of
from orchestrator.playbook.playbook import Playbook
from orchestrator.programs.observe import SharedMemory
from orchestrator.survey.cards import Named
from orchestrator.survey.checkpoint import Checkpoint
from orchestrator.survey.journal import History
from orchestrator.survey.observed import Observed
from orchestrator.survey.survey import Survey

_OF_FACTS: tuple[tuple[Fact[Any], str], ...] = (
    (engine.FACT, "the installed engine"),
    (topology.FACT, "how the GPUs are connected"),
    (driver.FACT, "the driver"),
    (machine.FACT, "the machine"),
)
"""What a plan would like to know, in words."""


def of_cards(playbook: Playbook, named: Named) -> Survey:
    """A host of which nothing is known but its cards."""
    return _unseen(playbook, Facts({gpus.FACT.name: Gpus(named.gpus)}), "who has the port", supposed=True)


def of_facts(playbook: Playbook, saved: Saved) -> Survey:
    """A host as it was when its facts were saved: who has its port and its memory may be another by now."""
    return _unseen(playbook, saved.facts, f"what changed since {saved.at}", supposed=False)


def _unseen(playbook: Playbook, facts: Facts, beside: str, *, supposed: bool) -> Survey:
    there = _folder(playbook, facts)
    unknown = [words for fact, words in _OF_FACTS if isinstance(facts.of(fact), Unknown)]
    room = ["free disk"] if there.free_bytes is None else []
    return Survey(
        facts=facts,
        checkpoint=there,
        observed=_never_launched(playbook),
        history=History(),
        fresh=False,
        supposed=supposed,
        unasked=(*unknown, *room, "what is in the checkpoint's folder", beside),
    )


def _folder(playbook: Playbook, facts: Facts) -> Checkpoint:
    """As if nothing were in it; with the room on its disk where that very folder was asked for."""
    here, under = facts.of(machine.FACT), facts.of(disk.FACT)
    folder = playbook.folder
    if folder.startswith("~/") and isinstance(here, Machine) and here.home:
        folder = f"{here.home}/{folder[2:]}"
    empty = Checkpoint(
        exists=False, folder=folder, owner_uid=None, owned_by_us=False, configs={}, broken={}, unreadable={},
        index=None, manifest=None, free_bytes=None,
    )  # fmt: skip
    if isinstance(under, Disk) and under.folder == folder:
        return replace(empty, owner_uid=under.owner_uid, free_bytes=under.free_bytes)
    return empty


def _never_launched(playbook: Playbook) -> Observed:
    return Observed(
        launch=None, alive=False, members=(), exit_code=None, command=None, log=None, health=None, models=(), context=None,
        listener=None, endpoint=place_of(playbook), started_at=None, shm=SharedMemory(entries=0, bytes=0),
    )  # fmt: skip
