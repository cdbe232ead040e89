"""Are the weights alone more than an engine takes of a card? Pure."""

from __future__ import annotations

from orchestrator.base.errors import PreflightRefused
from orchestrator.engines import sizing
from orchestrator.engines.options import Option, Options
from orchestrator.plan import fitting
from orchestrator.plan.installing import on_cpu
from orchestrator.playbook.playbook import Playbook
from orchestrator.survey.survey import Survey

CERTAIN = 0.95
"""Of the weights that the index names some may not be loaded (layers that only guess tokens ahead): a launch is refused only
where that much of them is too much."""
MOST_RANKS = 64


def too_large(
    host: str, playbook: Playbook, survey: Survey, version: str | None, options: Options, fit: sizing.Fit
) -> PreflightRefused | None:
    """That no card holds its part, which no shorter context would help; with the setting and the cards that would do."""
    if fit.weights_gib_per_gpu is None or fit.memory_gib is None:
        return None
    if on_cpu(playbook, survey) or not options.loads_all_weights:
        return None
    share = fit.memory_gib * fit.utilisation
    if fit.weights_gib_per_gpu * CERTAIN <= share:
        return None
    lighter = _lighter(playbook, options, share - fit.overhead.safe)
    return PreflightRefused(
        "weights_too_large",
        f"{host}: the weights take {fit.weights_gib_per_gpu:.1f} GiB of each GPU, {options.engine} takes "
        f"{share:.1f} GiB of it ({fit.utilisation:g} of {fit.memory_gib:.1f}){lighter}",
        **_instead(playbook, survey, version, options, fit),
    )


def _lighter(playbook: Playbook, options: Options, room: float) -> str:
    """The heaviest other form of the same model that these GPUs hold, as a clause."""
    parts = {
        name: sizing.weights_gib_per_gpu(size, gpus=options.ranks, replicated_bytes=None)
        for name, size in playbook.forms.items()
    }
    held = {name: part for name, part in parts.items() if part < room}
    name = max(held, key=held.__getitem__, default=None)
    return "" if name is None else f"; the playbook {name} takes {held[name]:.1f} GiB"


def _instead(
    playbook: Playbook, survey: Survey, version: str | None, options: Options, fit: sizing.Fit
) -> dict[str, str]:
    """Over how many GPUs of this kind the weights would go, where the host has them or is only named."""
    whole = survey.checkpoint.weights_bytes or playbook.figures.weights_bytes
    config, card = fitting.config_of(playbook, survey.checkpoint.configs), survey.facts.cards[0].name
    memory_gib = fit.memory_gib or 0.0
    tensor = options.tensor
    while whole and (tensor := tensor * 2) <= MOST_RANKS:
        wider = options.changed({options.tensor_option: Option(tensor, "option")})
        room = memory_gib * fit.utilisation - wider.overhead(version, config, memory_gib, card).safe
        gpus = options.gpus // options.tensor * tensor
        part = sizing.weights_gib_per_gpu(
            whole,
            gpus=wider.ranks,
            replicated_bytes=playbook.figures.replicated_bytes,
        )
        if part >= room or not (survey.supposed or gpus <= len(survey.facts.cards)):
            continue
        setting = {"setting": " --set ".join(fitting.wider(playbook, tensor, gpus))}
        return {**setting, "gpu": f"{gpus}x{card}"} if survey.supposed else setting
    return {}
