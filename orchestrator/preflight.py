"""Why may a deployment not start on this host, and what should a person know before it does? Pure."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from orchestrator.engine.environment import Variable
from orchestrator.engine.flags import check_flags, check_variables
from orchestrator.errors import DeployError, PreflightRefused
from orchestrator.facts.engine import Engine
from orchestrator.facts.machine import Machine
from orchestrator.facts.source import Unknown
from orchestrator.facts.topology import Topology, suggest_nccl, unfounded_nccl
from orchestrator.gpu_room import Shortage
from orchestrator.playbook import Playbook
from orchestrator.survey import Survey


def refusals(host: str, playbook: Playbook, survey: Survey, version: str | None) -> tuple[DeployError, ...]:
    """What forbids a launch: no engine or a wrong one, too few or too small GPUs, a taken port."""
    return (
        *_engine(host, playbook, survey, version),
        *_gpus(host, playbook, survey),
        *_port(host, playbook, survey),
    )


def warnings(
    survey: Survey, version: str | None, argv: Sequence[str], environment: Sequence[Variable]
) -> tuple[str, ...]:
    """What does not forbid a launch, and may spoil it."""
    found = []
    if version:
        found += [warning.sentence for warning in check_flags(argv, version)]
        found += [warning.sentence for warning in check_variables([one.name for one in environment], version)]
    return (*_configs(survey), *found, *_logout(survey), *_nccl(survey, environment))


def _configs(survey: Survey) -> list[str]:
    checkpoint = survey.checkpoint
    return [
        f"{name} in {checkpoint.folder} {why}: this plan is made without it"
        for name, why in checkpoint.unusable.items()
    ]


def _engine(host: str, playbook: Playbook, survey: Survey, version: str | None) -> list[DeployError]:
    if version is None:
        why = survey.facts.engine.reason if isinstance(survey.facts.engine, Unknown) else "it has no vLLM"
        return [
            PreflightRefused(
                "no_engine",
                f"{host}: {playbook.engine.python}: {why}",
                next_command=_installing(host, playbook, survey),
            )
        ]
    if playbook.engine.accepts(version):
        return []
    wanted = f"{playbook.engine.version}, which {playbook.name} needs"
    return [
        PreflightRefused(
            "engine_version",
            f"{host}: vLLM {version} is outside {wanted}",
            next_command=_installing(host, playbook, survey),
        )
    ]


def _installing(host: str, playbook: Playbook, survey: Survey) -> str:
    """What brings a right engine: into the environment that was asked, or another environment where it is none."""
    asked = survey.facts.engine
    if isinstance(asked, Unknown) and asked.code != "no_engine":
        return "{command} --set engine.python=PATH"
    python = shlex.quote(asked.executable if isinstance(asked, Engine) else playbook.engine.python)
    return f"{python} -m pip install {shlex.quote(f'vllm{playbook.engine.version}')}  # on {host}"


def _gpus(host: str, playbook: Playbook, survey: Survey) -> list[DeployError]:
    on_cpu = survey.engine is not None and survey.engine.on_cpu
    if playbook.gpus == 0 or (on_cpu and playbook.needs.gpus is None):
        return []
    if isinstance(survey.facts.gpus, Unknown):
        return [
            PreflightRefused(
                "gpus_unknown", f"{host}: {survey.facts.gpus.reason}", next_command=f"nvidia-smi  # on {host}"
            )
        ]
    cards, needed = survey.facts.cards, playbook.needs.gpu_memory_gib
    if len(cards) < playbook.gpus:
        what = f"{host} has {len(cards)} GPUs, {playbook.name} needs {playbook.gpus}"
        return [PreflightRefused("gpus_missing", what, next_command=f"nvidia-smi -L  # on {host}")]
    small = [card for card in cards if card.memory_mib and card.memory_mib < needed * 1024]
    return [
        PreflightRefused(
            "gpu_memory",
            f"{host}: GPU{card.index} has {card.memory_mib} MiB, {playbook.name} needs {needed:g} GiB a GPU",
            next_command=f"nvidia-smi  # on {host}",
        )
        for card in small[:1]
    ]


def gpu_busy(host: str, short: Shortage) -> PreflightRefused:
    """That a launch would certainly be refused by vLLM: what others hold of a card leaves too little."""
    return PreflightRefused(
        "gpu_busy",
        f"{host}: {short.sentence}. {short.advice}",
        next_command=short.next_command or f"nvidia-smi  # on {host}",
    )


def _port(host: str, playbook: Playbook, survey: Survey) -> list[DeployError]:
    owner = survey.observed.listener
    if not owner or owner.get("ours"):
        return []
    who = f"pid {owner.get('pid')} ({owner.get('command')}, user {owner.get('user')}, since {owner.get('since')})"
    if survey.observed.members:
        shared = f"port {survey.observed.endpoint['port']} of launch {survey.observed.launch}"
        return [
            PreflightRefused(
                "port_shared",
                f"{host}: {who} answers on {shared}, which lives. It is not ours, so it stays",
                next_command=f"deploy stop {playbook.name} --host {host}",
            )
        ]
    other = owner.get("free_port") or (playbook.port + 1 if playbook.port < 65535 else 8000)
    return [
        PreflightRefused(
            "port_taken",
            f"{host}: port {playbook.port} is taken by {who}. It is not ours, so it stays",
            next_command=f"{{command}} --set port={other}",
        )
    ]


def _logout(survey: Survey) -> list[str]:
    machine = survey.facts.machine
    if not isinstance(machine, Machine):
        return []
    found = []
    if machine.logout_kills:
        found.append(
            "logind ends this user's processes at the last logout (KillUserProcesses), the launch too"
        )
    if machine.logout_removes_shm:
        found.append(
            "logind removes this user's shared memory at the last logout (RemoveIPC), the launch's too"
        )
    return [f"{text}: --consent linger keeps it (loginctl enable-linger)" for text in found]


def wants_linger(survey: Survey) -> bool:
    """Whether logind would harm the launch once nobody is logged in."""
    machine = survey.facts.machine
    return isinstance(machine, Machine) and (machine.logout_kills or machine.logout_removes_shm)


def _nccl(survey: Survey, environment: Sequence[Variable]) -> list[str]:
    topology, machine = survey.facts.topology, survey.facts.machine
    if not isinstance(topology, Topology) or not isinstance(machine, Machine):
        return []
    no_p2p = () if isinstance(survey.facts.no_p2p, Unknown) else survey.facts.no_p2p
    suggested = suggest_nccl(topology, sockets=machine.sockets, cpu_vendor=machine.cpu_vendor, no_p2p=no_p2p)
    shown = {one.name: one.shown for one in environment}
    return [sentence for _, sentence in unfounded_nccl(shown, suggested)]
