"""Why may a deployment not start on this host? Pure."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from orchestrator.base.errors import DeployError, PreflightRefused
from orchestrator.engines.options import Options
from orchestrator.engines.sizing import Fit
from orchestrator.facts import engine, gpus, pci
from orchestrator.facts.source import Unknown
from orchestrator.on_host.checkpoint.configs import CONFIG
from orchestrator.on_host.secrets.secrets import brief
from orchestrator.patches.known import Known
from orchestrator.plan.gpu_room import Shortage
from orchestrator.plan.installing import on_cpu
from orchestrator.plan.still_held import StillHeld
from orchestrator.playbook.pinned import PinnedEngine, offered
from orchestrator.playbook.playbook import Playbook
from orchestrator.survey.cards import holding
from orchestrator.survey.survey import Survey

if TYPE_CHECKING:
    from orchestrator.facts.examined.environments import Environment

LONGEST_COMMAND = 300
"""Characters of a foreign command line that are told."""


def refusals(host: str, playbook: Playbook, survey: Survey, version: str | None) -> tuple[DeployError, ...]:
    """What forbids a launch: no engine or a wrong one, too few or too small GPUs, a taken port."""
    return (
        *_engine(host, playbook, survey, version),
        *_gpus(host, playbook, survey),
        *_port(host, playbook, survey),
        *_files(host, playbook, survey),
    )


def _files(host: str, playbook: Playbook, survey: Survey) -> list[DeployError]:
    """Where nothing is fetched: that there is a model in the folder."""
    there = survey.checkpoint
    if playbook.model.repository is not None or survey.supposed or CONFIG in there.configs or there.unusable:
        return []
    lacks = f"has no {CONFIG}" if there.exists else "is not there"
    reason = f"{host}: {there.folder} {lacks}, and no repository is named from which it could be fetched"
    look = f"ls -l {shlex.quote(there.folder)}  # on {host}"
    return [PreflightRefused("no_checkpoint", reason, next_command=look)]


def _engine(host: str, playbook: Playbook, survey: Survey, version: str | None) -> list[DeployError]:
    pinned = playbook.engine.pinned
    asked = survey.facts.of(engine.FACT)
    absent = not pinned and not survey.supposed and isinstance(asked, Unknown) and asked.code in engine.ABSENT
    if version is not None and playbook.engine.accepts(version) and not absent:
        return []
    if pinned and not survey.supposed and version == (survey.engine.version if survey.engine else None):
        return [_changed(host, pinned, survey)]
    other = elsewhere(playbook, survey)
    there = f"; {other.distribution} {other.version} is in {other.python}" if other else ""
    known = {"python": other.python} if other else _offered(playbook, survey)
    if version is None or absent:
        if isinstance(asked, Unknown) and asked.code == "not_asked":
            return []
        why = asked.reason if isinstance(asked, Unknown) else f"it has no {playbook.kind.title}"
        reason = f"{host}: {playbook.engine.interpreter}: {why}{there}"
        return [PreflightRefused("no_engine", reason, **known)]
    if survey.supposed and (release := _release(playbook)):
        known = {"release": release}
    wanted = f"{pinned or playbook.engine.version}, which {playbook.name} needs"
    reason = f"{host}: {playbook.kind.title} {version} is outside {wanted}{there}"
    return [PreflightRefused("engine_version", reason, **known)]


def options_refused(
    host: str, playbook: Playbook, options: Options, version: str | None, fit: Fit
) -> list[DeployError]:
    """The options for which this version of the engine would end at once; nothing of one that is refused itself."""
    refused: list[DeployError] = []
    for objection in options.objections(version) if version and playbook.engine.accepts(version) else ():
        known = dict(objection.known)
        if objection.option in playbook.arguments:
            typed = options.given[objection.option].origin == "option"
            known["typed" if typed else "unset"] = objection.option
        if objection.option == options.context_option and fit.longest_context:
            known["setting"] = f"context={min(fit.context, fit.longest_context)}"
        refused.append(PreflightRefused(objection.code, f"{host}: {objection.sentence}", **known))
    return refused


def ray_missing(host: str, survey: Survey, options: Options) -> list[DeployError]:
    """That ranks on several hosts are to be started by Ray, and the engine's Python has none."""
    installed = survey.engine
    if not options.through_ray or survey.supposed or installed is None or installed.ray is not None:
        return []
    reason = f"{host}: Ray, by which the ranks on several hosts are started, is not installed in {installed.executable}"
    add = f"{shlex.quote(installed.executable)} -m pip install 'ray[cgraph]'  # on {host}"
    return [PreflightRefused("no_ray", reason, next_command=add)]


def architecture_refused(
    host: str, playbook: Playbook, survey: Survey, known: Known, options: Options
) -> list[DeployError]:
    """That this version of the engine has no class for the checkpoint, by its config.json."""
    config, version = (known.documents or {}).get(CONFIG), known.version
    if config is None or version is None or not playbook.engine.accepts(version):
        return []
    objection = options.unsupported(config, version)
    if objection is None:
        return []
    release = objection.known["release"]
    package = survey.engine.distribution if survey.engine else playbook.kind.package.distributions[0]
    way = {"release": release} if survey.supposed else {"install": f"{package}=={release}"}
    return [PreflightRefused(objection.code, f"{host}: {objection.sentence}", **way)]


def _release(playbook: Playbook) -> str | None:
    """The oldest release that the playbook names and accepts."""
    pinned = playbook.engine.pinned
    wanted = SpecifierSet(f"=={pinned.version}" if pinned else playbook.engine.version)
    named = (Version(spec.version) for spec in wanted if "*" not in spec.version)
    return next((str(each) for each in sorted(named) if playbook.engine.accepts(str(each))), None)


def _changed(host: str, pinned: PinnedEngine, survey: Survey) -> DeployError:
    """That an environment of ours answers, and not as the engine that was installed there."""
    there = survey.facts.of(engine.FACT)
    what = there.reason if isinstance(there, Unknown) else f"it has {there.distribution} {there.version}"
    reason = f"{host}: {pinned.python} is no longer as it was installed: {what}"
    away = f"mv {pinned.folder} {pinned.folder}.changed  # on {host}"
    return PreflightRefused("engine_changed", reason, next_command=away)


def elsewhere(playbook: Playbook, survey: Survey) -> Environment | None:
    """The first environment on the host with an engine that this playbook accepts."""
    from orchestrator.facts.examined import environments  # few plans come here

    listed = survey.facts.of(environments.FACT)
    named = playbook.engine.interpreter
    return next(
        (
            environment
            for environment in (() if isinstance(listed, Unknown) else listed)
            if environment.python != named and playbook.engine.accepts(environment.version)
        ),
        None,
    )


def _offered(playbook: Playbook, survey: Survey) -> dict[str, str]:
    """Which engine of our own would do where the host has none; nothing where one of ours is asked for already, or where the
    interpreter may only be slow."""
    installed = survey.facts.of(engine.FACT)
    lacking = ("no_engine", "no_engine_python", "engine_unversioned")
    if playbook.engine.pinned or (isinstance(installed, Unknown) and installed.code not in lacking):
        return {}
    pinned = offered(playbook.kind, playbook.engine.accepts, on_cpu=playbook.gpus == 0)
    return {"install": str(pinned)} if pinned else {}


def _gpus(host: str, playbook: Playbook, survey: Survey) -> list[DeployError]:
    if playbook.gpus == 0 or (on_cpu(playbook, survey) and playbook.needs.gpus is None):
        return []
    read = survey.facts.of(gpus.FACT)
    if isinstance(read, Unknown):
        return [
            PreflightRefused(
                "gpus_unknown",
                f"{host}: {read.reason}{_on_the_bus(survey, 0)}",
                next_command=f"nvidia-smi  # on {host}",
            )
        ]
    cards, needed = survey.facts.cards, playbook.needs.gpu_memory_gib
    if len(cards) < playbook.gpus:
        problems = "".join(f"; nvidia-smi says besides: {problem}" for problem in read.problems[:1])
        beside = _on_the_bus(survey, len(cards))
        reason = f"{host} has {len(cards)} GPUs, {playbook.name} needs {playbook.gpus}{beside}{problems}"
        more = {"gpu": f"{playbook.gpus}x{cards[0].name}"} if survey.supposed else {}
        command = None if survey.supposed else f"nvidia-smi -L  # on {host}"
        return [PreflightRefused("gpus_missing", reason, next_command=command, **more)]
    unusable = [card for card in cards if card.unusable]
    if len(cards) - len(unusable) < playbook.gpus:
        first = unusable[0]
        reason = f"{host}: GPU{first.index} {first.unusable}, {playbook.name} needs {playbook.gpus} of {len(cards)} GPUs"
        return [PreflightRefused("gpu_lost", reason, next_command=f"{first.mend}  # on {host}")]
    fitting = holding(needed) if survey.supposed else None
    larger = {"gpu": f"{playbook.gpus}x{fitting.name}"} if fitting else {}
    small = [card for card in cards if card.memory_mib and card.memory_mib < needed * 1024]
    return [
        PreflightRefused(
            "gpu_memory",
            f"{host}: GPU{card.index} has {card.memory_mib} MiB, {playbook.name} needs {needed:g} GiB a GPU",
            next_command=None if survey.supposed else f"nvidia-smi  # on {host}",
            **larger,
        )
        for card in small[:1]
    ]


def _on_the_bus(survey: Survey, answering: int) -> str:
    """What is on the PCI bus beside the cards that answer; nothing where that is not known."""
    devices = survey.facts.of(pci.FACT)
    listed = "" if isinstance(devices, Unknown) else pci.listed(devices, answering)
    return listed and f"; {listed}"


def gpu_busy(host: str, short: Shortage | StillHeld) -> PreflightRefused:
    """That a launch would certainly be refused by the engine: what others hold of a card leaves too little."""
    return PreflightRefused(
        "gpu_busy",
        f"{host}: {short.sentence}. {short.advice}",
        next_command=None if short.cure else f"nvidia-smi  # on {host}",
        **short.cure,
    )


def _port(host: str, playbook: Playbook, survey: Survey) -> list[DeployError]:
    owner = survey.observed.listener
    if not owner or owner.ours:
        return []
    command = brief(str(owner.command), LONGEST_COMMAND)
    holder = f"pid {owner.pid} ({command}, user {owner.user}, since {owner.since})"
    if survey.observed.members:
        shared = f"port {survey.observed.endpoint.port} of launch {survey.observed.launch}"
        return [
            PreflightRefused(
                "port_shared",
                f"{host}: {holder} answers on {shared}, which lives. It is not ours, so it stays",
            )
        ]
    other = owner.free_port or (playbook.port + 1 if playbook.port < 65535 else 8000)
    return [
        PreflightRefused(
            "port_taken",
            f"{host}: port {playbook.port} is taken by {holder}. It is not ours, so it stays",
            port=str(other),
        )
    ]
