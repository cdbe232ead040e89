"""What will happen with this engine, checkpoint and card: which failures are certain, and does the context fit?"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from orchestrator.checkpoint import architecture
from orchestrator.checkpoint.edits import documents
from orchestrator.checkpoint.kv_quantisation import resolved_kv_dtype
from orchestrator.engines import sizing
from orchestrator.engines.options import Options
from orchestrator.facts import gpu_processes, machine
from orchestrator.facts.machine import Machine
from orchestrator.facts.source import Unknown
from orchestrator.on_host.checkpoint.configs import CONFIG
from orchestrator.patches import propose
from orchestrator.patches.circumstances import Circumstances
from orchestrator.patches.patch import Patch
from orchestrator.plan import gpu_room, resolve
from orchestrator.plan.change import Change, edited, work_out
from orchestrator.playbook.playbook import Figures, Playbook
from orchestrator.programs.cleanup import Waited
from orchestrator.survey.survey import Survey

QUANTISED = ("fp8", "nvfp4")
VISIBLE = "CUDA_VISIBLE_DEVICES"


def predicted(
    playbook: Playbook, survey: Survey, version: str | None, patches: Sequence[Patch], options: Options
) -> tuple[Change, ...]:
    """The changes for failures that are certain here: inside the patch's window, with a quantised KV cache.

    Before the files are there the playbook's figures speak for them; the files are judged again later.
    """
    configs = survey.checkpoint.configs
    kind = attention(playbook, configs)
    dtype = kv_dtype(playbook, configs, version, options)
    if not dtype.startswith(QUANTISED):
        return ()
    cap = survey.facts.compute_cap
    source = "" if CONFIG in configs else ", by the playbook's figures"
    evidence = (
        f"{options.engine} {version}, compute capability {cap}, {kind} attention, KV cache {dtype}{source}"
    )
    known = circumstances(playbook, survey, version, options)
    found = [
        work_out(patch, why="certain", evidence=evidence, known=known, configs=configs)
        for patch in patches
        if patch.predicts(version, cap, kind)
    ]
    return tuple(change for change in found if change.changes_something or CONFIG not in configs)


def circumstances(playbook: Playbook, survey: Survey, version: str | None, options: Options) -> Circumstances:
    """What is known of a launch before it is one; without the files the playbook's figures speak for them."""
    configs = survey.checkpoint.configs
    return Circumstances(
        vllm_version=version,
        compute_cap=survey.facts.compute_cap,
        gpus=len(survey.facts.cards) or None,
        arguments=options.texts,
        attention=attention(playbook, configs),
        documents=documents(configs) if CONFIG in configs else None,
    )


def with_consequences(
    playbook: Playbook, survey: Survey, version: str | None, changes: Sequence[Change], options: Options
) -> tuple[tuple[Change, ...], Options, sizing.Fit]:
    """The changes with what they bring about, the options and the fit then: each spares a launch that would fail for it.

    Without an explicit option the checkpoint's own config decides, so a way that edits it where no option is set does so in
    the same step in which it takes the option away. A KV cache in bf16 takes twice the bytes of FP8, so the context shrinks
    where it no longer fits.
    """
    changes = [_with_edits(playbook, survey, version, change, options) for change in changes]
    then = resolve.changed(options, changes)
    judged = fit(playbook, survey, version, then, changes)
    if not changes or judged.verdict != "does_not_fit" or not judged.max_model_len:
        return tuple(changes), then, judged
    flags = {**changes[-1].flags, f"--{options.context_option}": str(judged.max_model_len)}
    planned = (*changes[:-1], replace(changes[-1], flags=flags))
    then = resolve.changed(options, planned)
    return planned, then, fit(playbook, survey, version, then, planned)


def _with_edits(
    playbook: Playbook, survey: Survey, version: str | None, change: Change, options: Options
) -> Change:
    configs = survey.checkpoint.configs
    if change.edits is not None or change.number is None or None not in change.flags.values():
        return change
    then = circumstances(playbook, survey, version, resolve.changed(options, (change,)))
    return replace(change, edits=edited(propose.edits_then(change.patch, change.number, then), configs))


def fit(
    playbook: Playbook,
    survey: Survey,
    version: str | None,
    options: Options,
    changes: Sequence[Change] = (),
) -> sizing.Fit:
    """How weights and the KV cache of one full request fit into the smallest GPU, with these options and once the
    changes' edits are in."""
    configs = dict(survey.checkpoint.configs)
    for change in changes:
        configs.update(change.edits.after if change.edits else {})
    dtype = kv_dtype(playbook, configs, version, options)
    if CONFIG not in configs and changes:  # their edits will be worked out when the files are there
        dtype = "auto"
    return sizing.fit(
        memory_gib=sizing.smallest_memory_gib([card.memory_mib for card in survey.facts.cards]),
        weights_bytes=survey.checkpoint.weights_bytes or playbook.figures.weights_bytes,
        kv_bytes_per_token=_kv_bytes(playbook, configs, dtype, options.tensor),
        context=options.context,
        utilisation=options.memory_share(version),
        gpus=options.ranks,
        replicated_bytes=playbook.figures.replicated_bytes,
        context_parallel=options.context_parallel,
        overhead=options.overhead(version),
    )


def gpu_shortage(
    playbook: Playbook,
    survey: Survey,
    version: str | None,
    options: Options,
    *,
    now: Waited | None = None,
) -> gpu_room.Shortage | None:
    """The card on which this launch would be refused for want of free memory; what the engine needs besides is `fit`'s matter.

    `now` is how the cards were when the host had waited for memory; without it the facts tell.
    """
    here, told = survey.facts.of(machine.FACT), survey.facts.of(gpu_processes.FACT)
    if survey.engine is not None and survey.engine.on_cpu:
        return None
    visible = options.variable(VISIBLE)
    if visible is None and isinstance(here, Machine):
        visible = here.cuda_visible_devices
    by_bus = options.variable("CUDA_DEVICE_ORDER") == "PCI_BUS_ID"
    launch = gpu_room.Launch(
        options.engine, options.share_option, options.gpus, options.memory_share(version), visible, by_bus
    )
    if now is not None:
        short = gpu_room.shortage(*gpu_room.after_waiting(survey.facts.cards, now), launch)
    elif not isinstance(told, Unknown):
        short = gpu_room.shortage(survey.facts.cards, told, launch, own=survey.facts.own)
    else:
        return None
    if short is None or short.lower is None:
        return short
    fits = fit(playbook, survey, version, resolve.standing(playbook, survey, share=short.lower))
    return replace(short, lower=None) if fits.verdict == "does_not_fit" else short


def kv_dtype(playbook: Playbook, configs: Mapping[str, bytes], version: str | None, options: Options) -> str:
    """What the KV cache would be stored as: the engine's name for it, "auto" for the model's own dtype."""
    if options.kv_dtype is not None:
        return options.kv_dtype
    if CONFIG not in configs:
        return "fp8_e4m3" if playbook.figures.kv_cache == "fp8" else "auto"
    return resolved_kv_dtype(configs, version) if version else "auto"


def attention(playbook: Playbook, configs: Mapping[str, bytes]) -> str | None:
    """The kind of attention, from config.json or else from the playbook's figures."""
    if CONFIG in configs:
        return architecture.read(json.loads(configs[CONFIG])).attention
    return "mla" if playbook.figures.kv_lora_rank else None


def _kv_bytes(playbook: Playbook, configs: Mapping[str, bytes], dtype: str, tensor: int) -> int | None:
    if CONFIG in configs:
        shape = architecture.read(json.loads(configs[CONFIG]))
        return architecture.kv_bytes_per_token(shape, dtype, tensor)
    return _figured_kv_bytes(playbook.figures, 1 if dtype.startswith("fp8") else 2, tensor)


def _figured_kv_bytes(figures: Figures, bytes_each: int, tensor: int) -> int | None:
    if figures.layers and figures.kv_lora_rank and figures.qk_rope_head_dim:
        return sizing.mla_bytes_per_token(
            layers=figures.layers,
            kv_lora_rank=figures.kv_lora_rank,
            qk_rope_head_dim=figures.qk_rope_head_dim,
            bytes_each=bytes_each,
        )
    if figures.layers and figures.kv_heads and figures.head_dim:
        return sizing.gqa_bytes_per_token(
            layers=figures.layers,
            kv_heads=figures.kv_heads,
            head_dim=figures.head_dim,
            tensor=tensor,
            bytes_each=bytes_each,
        )
    return None
