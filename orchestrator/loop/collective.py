"""How are collectives of a host's GPUs measured before any weights are loaded: which cards, with what, and may they be used?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from orchestrator.base.events import Report
from orchestrator.checks.check import Check
from orchestrator.checks.collective import failed_before, measured, not_applicable, refused
from orchestrator.engines import registry
from orchestrator.facts import engine, gpu_processes
from orchestrator.facts.engine import InstalledEngine
from orchestrator.facts.examined import environments
from orchestrator.facts.gather import Facts
from orchestrator.facts.gpus import Gpu
from orchestrator.facts.saved import Saved
from orchestrator.facts.source import Unknown
from orchestrator.hosts.host import Host
from orchestrator.on_host.footprint import Footprint
from orchestrator.plan import collective, nccl, resolve
from orchestrator.plan.collective import Measured
from orchestrator.plan.gpu_holders import holders
from orchestrator.plan.gpu_room import LITTLE_MIB, LITTLE_SHARE
from orchestrator.playbook.playbook import Playbook
from orchestrator.programs.ask import Answers, ask
from orchestrator.programs.collective import CollectiveRun, MeasureCollective, rank_program
from orchestrator.programs.record import Record
from orchestrator.survey.supposed import of_facts

READY_SECONDS = 90.0
"""How long torch may take to be imported: from a cold disk, or over a network."""
SILENT_SECONDS = 25.0
PAIRS_SECONDS = 120.0
USUAL_SECONDS = 60.0


@dataclass(frozen=True)
class Probe:
    """What is measured: the cards, the Python that has torch, what is set for every rank, and what the planned settings add."""

    cards: tuple[Gpu, ...]
    python: str
    environment: Mapping[str, str]
    variables: Mapping[str, str]
    footprint: Footprint


def measure(
    host: Host, saved: Saved, playbook: Playbook | None, report: Report
) -> tuple[tuple[Check, ...], Measured | None]:
    """The checks that a test comes to, and what it measured; None where there was nothing to be measured, or no leave.

    What it measured of a playbook's GPUs goes on record under the playbook's name.
    """
    test = prepared(saved, playbook)
    if isinstance(test, Check):
        return (test,), None
    news = []
    names = {collective.TUNED: "with the planned settings", collective.UNTUNED: "without them"}
    with report.step("collective", f"all-reduce over {len(test.cards)} GPUs", limit=USUAL_SECONDS) as step:
        answers = Answers(host, request(test))
        try:
            for item in answers.values():
                news.append(item)
                if item.outcome is not None:
                    what = f"pair {item.pair}" if item.pair else names.get(item.run or "", item.run or "")
                    step.progress(
                        f"{what}: {collective.in_words(item.outcome, len(item.pair or test.cards))}"
                    )
        finally:
            answers.close()
        result = collective.gathered(
            [card.index for card in test.cards],
            [card.uuid for card in test.cards],
            test.cards[0].driver,
            test.variables,
            news,
        )
        step.done = result.sentence
    if playbook is not None and not failed_before(result):
        ask(host, Record(instance=playbook.instance, record=result.record.as_json()))
    return tuple(measured(result)), result


def prepared(saved: Saved, playbook: Playbook | None, fewest: int = 2) -> Probe | Check:
    """What is to be measured, or why nothing is; of hosts that are measured together each may have the `fewest` cards, 1."""
    facts = saved.facts
    if len(facts.cards) < fewest:
        seen = "one GPU" if facts.cards else "no GPU"
        return not_applicable(f"{seen} is seen here, a collective takes two")
    if playbook is None:
        known = nccl.of_host(facts)
        environment: dict[str, str] = {}
        variables = {item.name: item.value for item in known.suggested.values()}
        numbers = tuple(card.index for card in facts.cards)
        footprint = registry.get(registry.USUAL).footprint
    else:
        survey = of_facts(playbook, saved)
        options = resolve.standing(playbook, survey)
        if options.gpus < fewest:
            return not_applicable("the launch takes one GPU, which runs no collective")
        known = nccl.links(survey, None, options)
        options = nccl.tuned(options, playbook, known)
        plain = {item.name: item.sent for item in options.environment if not item.secret}
        variables = nccl.variables(options)
        environment = {name: value for name, value in plain.items() if name not in variables}
        numbers = nccl.taken(survey, None, options)
        footprint = playbook.kind.footprint
    cards = tuple(card for number in numbers for card in facts.cards if card.index == number)
    if len(cards) < fewest:
        return refused("which GPUs the launch takes is not known")
    return _in_use(facts, cards) or Probe(
        cards, python_of(facts, playbook), environment, variables, footprint
    )


def _in_use(facts: Facts, cards: tuple[Gpu, ...]) -> Check | None:
    """Who has the cards: what is measured beside somebody's work is neither's true speed, and slows both."""
    computing = facts.of(gpu_processes.FACT)
    uuids = {card.uuid for card in cards}
    there = () if isinstance(computing, Unknown) else computing
    listed = holders(process for process in there if process.gpu_uuid in uuids)
    if listed:
        return refused(f"the GPUs are in use: {'; '.join(listed)}")
    for card in cards:
        total, used = card.memory_mib or 0, card.memory_used_mib or 0
        if used > max(LITTLE_MIB, total * LITTLE_SHARE):
            return refused(
                f"GPU{card.index} is in use: {used:,} MiB are held by what cannot be seen from here"
            )
    return None


def python_of(facts: Facts, playbook: Playbook | None) -> str:
    """The interpreter that is likely to have torch."""
    installed, listed = facts.of(engine.FACT), facts.of(environments.FACT)
    if isinstance(installed, InstalledEngine):
        return installed.executable
    if playbook is not None:
        return playbook.engine.interpreter
    return "python3" if isinstance(listed, Unknown) or not listed else listed[0].python


def request(test: Probe) -> MeasureCollective:
    runs = [CollectiveRun(name=collective.UNTUNED, variables={})]
    if test.variables:
        runs.insert(0, CollectiveRun(name=collective.TUNED, variables=test.variables))
    without = {**test.variables, **collective.WITHOUT_P2P}
    return MeasureCollective(
        python=test.python,
        text=rank_program(),
        backend="nccl",
        cards=tuple(card.uuid for card in test.cards),
        environment=test.environment,
        runs=tuple(runs),
        fallback=CollectiveRun(name=collective.FALLBACK, variables=without)
        if without != test.variables
        else None,
        sizes=(collective.SMALL, collective.MIDDLE, collective.LARGE),
        ready_seconds=READY_SECONDS,
        silent_seconds=SILENT_SECONDS,
        pairs_seconds=PAIRS_SECONDS,
        footprint=test.footprint,
    )
