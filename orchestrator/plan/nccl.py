"""Which of NCCL's variables do the links between a launch's GPUs ask for, and do they bear out those that are set? Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from orchestrator.engines.options import Options
from orchestrator.engines.variable import Variable
from orchestrator.facts import machine, p2p, topology
from orchestrator.facts.gather import Facts
from orchestrator.facts.machine import Machine
from orchestrator.facts.source import Unknown
from orchestrator.facts.topology import LinkShape, Suggestion, Topology, suggest_nccl
from orchestrator.plan.beside import demand
from orchestrator.plan.gpu_room import meant_by
from orchestrator.playbook.playbook import Playbook
from orchestrator.survey.survey import Survey

LEVEL, PROTO, DISABLE = "NCCL_P2P_LEVEL", "NCCL_PROTO", "NCCL_P2P_DISABLE"
_ENOUGH: dict[LinkShape, str] = {
    "nvlink": "all pairs are by NVLink, where NCCL needs no variable",
    "pcie_switch": "all pairs are within PCIe switches, which NCCL's own level covers",
}


@dataclass(frozen=True)
class Confirmation:
    """Whether this host's facts bear a value out: the fact, or why not."""

    confirmed: bool
    fact: str


@dataclass(frozen=True)
class Links:
    """How the GPUs that one launch takes are connected, as far as it is known."""

    matrix: Topology | None
    """Of the whole host."""
    missing: str
    """Why nothing can be said of it; "" where something can."""
    numbers: tuple[int, ...] = ()
    """The launch's GPUs."""
    pairs: tuple[tuple[int, int, str], ...] | Unknown = ()
    """Those that the driver refuses to let reach each other."""
    sockets: int | None = None
    vendor: str | None = None
    own: frozenset[str] = frozenset()
    """Names that the host itself sets for every program of this user."""

    @cached_property
    def suggested(self) -> Mapping[str, Suggestion]:
        """What they ask for, by name; nothing where they are not known."""
        if self.matrix is None:
            return {}
        pairs = () if isinstance(self.pairs, Unknown) else self.pairs
        wanted = suggest_nccl(
            self.matrix, sockets=self.sockets, cpu_vendor=self.vendor, no_p2p=pairs, among=self.numbers
        )
        return {item.name: item for item in wanted}

    def judged(self, name: str, value: str) -> Confirmation | None:
        """Whether a value that somebody set is right here; None for a variable on which no link bears."""
        if name not in (LEVEL, PROTO, DISABLE) or (name == DISABLE and value != "1"):
            return None
        if self.matrix is None:
            return Confirmation(False, self.missing)
        wanted = self.suggested.get(name)
        if wanted is not None and wanted.value == value:
            return Confirmation(True, wanted.reason + self._unsure(name))
        if wanted is not None:
            return Confirmation(False, f"the links ask for {wanted.value}: {wanted.reason}")
        return Confirmation(False, self._why_not(self.matrix.of(self.numbers), name, value))

    def _unsure(self, name: str) -> str:
        if name == DISABLE or not isinstance(self.pairs, Unknown):
            return ""
        return "; whether the driver lets them reach each other is not known"

    def _why_not(self, part: Topology, name: str, value: str) -> str:
        refused = () if isinstance(self.pairs, Unknown) else self.pairs
        among = [pair for pair in refused if pair[0] in self.numbers and pair[1] in self.numbers]
        if name == DISABLE:
            if isinstance(self.pairs, Unknown):
                return f"whether the GPUs reach each other's memory is not known ({self.pairs.reason})"
            count = part.gpus * (part.gpus - 1) // 2
            return f"the driver allows P2P for {count - len(among)} of {count} pairs (its claim, no test)"
        if among:
            a, b, word = among[0]
            return f"the driver says {word} for GPU{a}-GPU{b} (topo -p2p r)"
        if part.shape in _ENOUGH:
            return _ENOUGH[part.shape]
        if name == LEVEL:
            return "of two GPUs on an AMD host NCCL takes SYS by itself"
        return self._why_not_proto(part, value)

    def _why_not_proto(self, part: Topology, value: str) -> str:
        if value != "LL":
            return f"nothing here asks for {value}"
        if part.shape != "pcie_sockets" or part.gpus == 2:
            return "it is for more than two GPUs across two AMD sockets"
        if self.sockets is None or self.vendor is None:
            return f"the host does not tell its {'sockets' if self.sockets is None else 'CPU vendor'} (lscpu)"
        return f"it is for two AMD sockets, lscpu says {self.sockets} here ({self.vendor})"


def links(survey: Survey, version: str | None, options: Options) -> Links:
    """The links between the GPUs that this launch takes."""
    if survey.facts.cards and options.gpus < 2:
        return _of(survey.facts, None, "one GPU runs no collective")
    return _of(survey.facts, taken(survey, version, options))


def of_host(facts: Facts) -> Links:
    """The links between all GPUs of a host."""
    return _of(facts, tuple(card.index for card in facts.cards))


def taken(survey: Survey, version: str | None, options: Options) -> tuple[int, ...]:
    """The numbers of the GPUs that this launch takes; none where they are not known."""
    return tuple(card.index for card in meant_by(survey.facts.cards, demand(survey, version, options)))


def variables(options: Options) -> dict[str, str]:
    """Those of NCCL that are planned, by name."""
    return {
        item.name: item.sent
        for item in options.environment
        if item.name.startswith("NCCL_") and not item.secret
    }


def _of(facts: Facts, numbers: tuple[int, ...] | None, missing: str = "") -> Links:
    system, matrix = facts.of(machine.FACT), facts.of(topology.FACT)
    own = frozenset(system.nccl) if isinstance(system, Machine) else frozenset[str]()
    if not facts.cards:
        return Links(None, "no GPU is seen here", own=own)
    if numbers is None or len(facts.cards) < 2:
        return Links(None, missing or "one GPU runs no collective", own=own)
    if isinstance(matrix, Unknown):
        why = f"how the GPUs are connected is not known ({matrix.reason})"
        return Links(None, "no host was asked" if matrix.code == "not_asked" else why, own=own)
    if not numbers or max(numbers) >= matrix.gpus:
        return Links(None, "which GPUs the launch takes is not known", own=own)
    sockets, vendor = (system.sockets, system.cpu_vendor) if isinstance(system, Machine) else (None, None)
    pairs = facts.of(p2p.FACT)
    return Links(matrix, "", numbers, pairs, sockets, vendor, own)


def tuned(options: Options, playbook: Playbook, known: Links) -> Options:
    """The options with what the links ask for and nobody has decided: no file, option, remedy, or the host's own environment."""
    here = {variable.name for variable in options.environment}
    decided = {*here, *options.removed, *known.own}
    if DISABLE in known.own or options.variable(DISABLE) == "1":
        decided.add(LEVEL)  # NCCL does not read it then
    wanted = [
        Variable(item.name, item.value, item.reason, "topology")
        for item in known.suggested.values()
        if item.name not in decided and playbook.origin("environment", item.name) != "option"
    ]
    return options.with_variables(wanted)


def confirmations(environment: Iterable[Variable], known: Links) -> dict[str, Confirmation]:
    """What the links say of each variable on which they bear, but for those that we set by them."""
    judged = {
        variable.name: known.judged(variable.name, variable.shown)
        for variable in environment
        if variable.origin != "topology"
    }
    return {name: confirmation for name, confirmation in judged.items() if confirmation is not None}
