"""Do all hosts have the same cards, and drivers that go equally far?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from orchestrator.checks.between.group_check import GroupCheck, alike, apart, known
from orchestrator.checks.driver import UPGRADE
from orchestrator.facts import driver, gpus
from orchestrator.facts.gather import Facts

_LOOK = "nvidia-smi -L"


def check(hosts: Mapping[str, Facts]) -> Iterator[GroupCheck]:
    """Of another model's cards one has other kernels and another memory than the launch was planned for; of more cards some stay idle."""
    yield from _cards(hosts)
    yield from _drivers(hosts)


def _cards(hosts: Mapping[str, Facts]) -> Iterator[GroupCheck]:
    read = known(hosts, gpus.FACT)
    if any(name not in read and not facts.without_gpus for name, facts in hosts.items()):
        return  # its own check says why
    models = alike(
        {name: _kinds(facts) for name, facts in hosts.items()},
    )
    counts = alike({name: len(facts.cards) for name, facts in hosts.items()})
    if len(models) > 1:
        mend = f"{_LOOK}  # on {models[1][1][0]}"
        yield GroupCheck("cards", "fail", apart(models), mend, "cards_differ")
    elif len(counts) > 1:
        yield GroupCheck(
            "cards", "warn", f"{models[0][0]}: {apart(counts)}", f"{_LOOK}  # on {counts[1][1][0]}"
        )
    elif counts[0][0]:
        yield GroupCheck("cards", "pass", f"{counts[0][0]}x {models[0][0]} on each")


def _kinds(facts: Facts) -> str:
    return " and ".join(sorted({card.name for card in facts.cards})) or "no GPU"


def _drivers(hosts: Mapping[str, Facts]) -> Iterator[GroupCheck]:
    loaded = known(hosts, driver.FACT)
    if len(loaded) < len(hosts) or not all(facts.cards for facts in hosts.values()):
        return
    versions = alike({name: each.version or each.module or "not known" for name, each in loaded.items()})
    if len(versions) == 1:
        yield GroupCheck("drivers", "pass", f"{versions[0][0]} on all")
        return
    reach = {name: int(each.cuda.partition(".")[0]) for name, each in loaded.items() if each.cuda}
    majors = alike(reach)
    behind = min(reach, key=lambda name: reach[name]) if reach else versions[1][1][0]
    if len(majors) > 1:
        words = f"{apart(versions)}: up to CUDA {apart(majors)}"
        yield GroupCheck("drivers", "fail", words, f"{UPGRADE}  # on {behind}", "drivers_differ")
    else:
        yield GroupCheck("drivers", "warn", apart(versions), f"{UPGRADE}  # on {versions[1][1][0]}")
