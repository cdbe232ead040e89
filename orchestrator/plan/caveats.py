"""What does not forbid a launch, and should be known before it? Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from orchestrator.engines.options import Options
from orchestrator.facts import driver, gpu_processes, gpus, machine, p2p, topology
from orchestrator.facts.machine import Machine
from orchestrator.facts.source import Unknown
from orchestrator.survey.survey import Survey


def warnings(survey: Survey, version: str | None, options: Options) -> tuple[str, ...]:
    """What does not forbid a launch, and may spoil it."""
    not_taken = options.not_taken(version) if version else ()
    return (
        *_configs(survey),
        *not_taken,
        *_untold(survey),
        *_cuda(survey),
        *_logout(survey),
        *_links(survey, options),
    )


def passed_over(reasons: Iterable[str]) -> list[str]:
    """That records of the journal say what a remedy may not."""
    return [f"a record of the journal is passed over: {reason}" for reason in reasons]


def token_withheld(names: Sequence[str]) -> list[str]:
    """That the Hub's token goes nowhere else; `names` are the variables that would have held it."""
    if not names:
        return []
    unsent = f"{', '.join(names)} is not given to the engine, whose HF_ENDPOINT is not https://huggingface.co"
    return [f"{unsent}: --consent token-to-endpoint gives it"]


def _configs(survey: Survey) -> list[str]:
    checkpoint = survey.checkpoint
    return [
        f"{name} in {checkpoint.folder} {why}: this plan is made without it"
        for name, why in checkpoint.unusable.items()
    ]


def _cuda(survey: Survey) -> list[str]:
    """Whether the engine's torch is for a CUDA that the driver does not go up to."""
    loaded, engine = survey.facts.of(driver.FACT), survey.engine
    if isinstance(loaded, Unknown) or engine is None:
        return []
    behind = loaded.behind(engine.torch_cuda)
    return [behind.sentence] if behind else []


def _logout(survey: Survey) -> list[str]:
    system = survey.facts.of(machine.FACT)
    if not isinstance(system, Machine):
        return []
    harms = []
    if system.logout_kills:
        harms.append(
            "logind ends this user's processes at the last logout (KillUserProcesses), the launch too"
        )
    if system.logout_removes_shm:
        harms.append(
            "logind removes this user's shared memory at the last logout (RemoveIPC), the launch's too"
        )
    return [f"{harm}: --consent linger keeps it (loginctl enable-linger)" for harm in harms]


def wants_linger(survey: Survey) -> bool:
    """Whether logind would harm the launch once nobody is logged in."""
    system = survey.facts.of(machine.FACT)
    return isinstance(system, Machine) and (system.logout_kills or system.logout_removes_shm)


def _links(survey: Survey, options: Options) -> list[str]:
    """What is not known of the links between the GPUs, by which NCCL's variables are chosen and judged."""
    facts = survey.facts
    if len(facts.cards) < 2 or options.gpus < 2:
        return []
    links, pairs = facts.of(topology.FACT), facts.of(p2p.FACT)
    return [
        *_not_known("how the GPUs are connected", links, "no variable of NCCL is chosen by it"),
        *_not_known("whether the GPUs reach each other's memory", pairs, "NCCL's variables may be idle"),
    ]


def _untold(survey: Survey) -> list[str]:
    """What the host did not tell, and what is not judged for want of it."""
    facts = survey.facts
    system, computing, cards = facts.of(machine.FACT), facts.of(gpu_processes.FACT), facts.of(gpus.FACT)
    sentences = _not_known(
        "the machine",
        system,
        "a mirror of the Hub that is set there, and what logind does at a logout, are not known",
    )
    if facts.cards:
        sentences += _not_known("who computes on the GPUs", computing, "memory that others hold is nobody's")
    if not isinstance(cards, Unknown):
        sentences += [f"nvidia-smi says besides: {problem}" for problem in cards.problems]
    for card in facts.cards:
        if card.faults:
            sentences.append(f"GPU{card.index} does not tell all: {', '.join(card.faults[:3])}")
        sentences += [f"GPU{card.index}: {doubt}" for doubt in card.doubts]
        if card.mig == "Enabled":
            sentences.append(f"GPU{card.index} is cut up (MIG): no launch gets the whole of it")
    return sentences


def _not_known(subject: str, fact: object, consequence: str) -> list[str]:
    if not isinstance(fact, Unknown) or fact.code == "not_asked":
        return []
    return [f"{subject} is not known ({fact.reason}): {consequence}"]
