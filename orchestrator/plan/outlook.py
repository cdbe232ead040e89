"""What will happen with this engine, checkpoint and card: which failures are certain, and does the context fit?"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from orchestrator.checkpoint import architecture
from orchestrator.checkpoint.kv_quantisation import plan_edits, resolved_kv_dtype
from orchestrator.engines.vllm import sizing
from orchestrator.engines.vllm.adjustments import Adjustments
from orchestrator.engines.vllm.arguments import arguments_of, checked_value, remedied_name
from orchestrator.engines.vllm.variables import remedied_variable
from orchestrator.facts import gpu_processes, machine
from orchestrator.facts.machine import Machine
from orchestrator.facts.source import Unknown
from orchestrator.patches.patch import Patch
from orchestrator.plan import gpu_room
from orchestrator.plan.change import Change, work_out
from orchestrator.plan.command import engine_command
from orchestrator.playbook.playbook import Figures, Playbook
from orchestrator.survey.survey import Survey

QUANTISED = ("fp8", "nvfp4")
CONFIG = "config.json"
_MOST = 1e15
"""Beyond any count of bytes or tokens; of NaN nothing is below it."""
VISIBLE = "CUDA_VISIBLE_DEVICES"


def adjusted(playbook: Playbook, survey: Survey, changes: Sequence[Change] = ()) -> Adjustments:
    """What the patches in force and these changes set and take away."""
    standing = _standing(survey)
    for change in changes:
        standing = standing.then(change.flags, change.environment)
    asked = standing.flags.get("max-model-len")
    if isinstance(asked, str) and (_number(asked) or 0) > playbook.context:
        # what a patch left room for once says nothing against a shorter context that is asked for now
        flags = {name: value for name, value in standing.flags.items() if name != "max-model-len"}
        return Adjustments(flags=flags, environment=standing.environment)
    return standing


def _standing(survey: Survey) -> Adjustments:
    """What the patches in force set, without what a remedy may not."""
    history, left_out = survey.history, overruled(survey)
    return Adjustments(
        flags={name: value for name, value in history.flags.items() if name not in left_out},
        environment={name: value for name, value in history.environment.items() if name not in left_out},
    )


def overruled(survey: Survey) -> dict[str, str]:
    """What records of patches in force name and a remedy may not, with the reason: they are older than that rule, or
    somebody else wrote them."""
    history = survey.history
    found = {}
    for name, value in (*history.flags.items(), *history.environment.items()):
        op = "remove" if value is None else "set"
        try:
            checked_value(value if value is not None else "")
            if name in history.flags:
                remedied_name(name, op, value)
            else:
                remedied_variable(name, op, value)
        except ValueError as error:
            found[name] = str(error)
    return found


def command(
    playbook: Playbook, survey: Survey, changes: Sequence[Change] = (), *, python: str = "python3"
) -> tuple[str, ...]:
    """The engine's command line once the changes are in."""
    return engine_command(
        playbook,
        python=python,
        folder=survey.checkpoint.folder,
        adjustments=adjusted(playbook, survey, changes),
    )


def predicted(
    playbook: Playbook, survey: Survey, version: str | None, patches: Sequence[Patch]
) -> tuple[Change, ...]:
    """The changes for failures that are certain here: inside the patch's window, with a quantised KV cache.

    Before the files are there the playbook's figures speak for them; the files are judged again later.
    """
    configs = survey.checkpoint.configs
    argv = command(playbook, survey)
    kind = attention(playbook, configs)
    dtype = kv_dtype(playbook, configs, version, argv)
    if not dtype.startswith(QUANTISED):
        return ()
    cap = survey.facts.compute_cap
    source = "" if CONFIG in configs else ", by the playbook's figures"
    evidence = f"vLLM {version}, compute capability {cap}, {kind} attention, KV cache {dtype}{source}"
    found = [
        work_out(patch, why="certain", evidence=evidence, argv=argv, configs=configs)
        for patch in patches
        if patch.predicts(version, cap, kind)
    ]
    return tuple(change for change in found if change.changes_something or CONFIG not in configs)


def with_consequences(
    playbook: Playbook, survey: Survey, version: str | None, changes: Sequence[Change]
) -> tuple[tuple[Change, ...], sizing.Fit]:
    """The changes with what they bring about, and the fit then: each spares a launch that would fail for it.

    Without an explicit --kv-cache-dtype the checkpoint's own metadata decides, so it is edited in the same step
    where it asks for the same thing. A KV cache in bf16 takes twice the bytes of FP8, so the context shrinks
    where it no longer fits.
    """
    changes = [_with_edits(playbook, survey, version, change) for change in changes]
    judged = fit(playbook, survey, version, changes)
    if not changes or judged.verdict != "does_not_fit" or not judged.max_model_len:
        return tuple(changes), judged
    flags = {**changes[-1].flags, "--max-model-len": str(judged.max_model_len)}
    planned = (*changes[:-1], replace(changes[-1], flags=flags))
    return planned, fit(playbook, survey, version, planned)


def _with_edits(playbook: Playbook, survey: Survey, version: str | None, change: Change) -> Change:
    configs = survey.checkpoint.configs
    dropped = "--kv-cache-dtype" in change.flags and change.flags["--kv-cache-dtype"] is None
    if change.edits is not None or not dropped or CONFIG not in configs:
        return change
    argv = command(playbook, survey, (change,))
    if not kv_dtype(playbook, configs, version, argv).startswith(QUANTISED):
        return change
    return replace(change, edits=plan_edits(configs))


def fit(
    playbook: Playbook, survey: Survey, version: str | None, changes: Sequence[Change] = ()
) -> sizing.Fit:
    """How weights and the KV cache of one full request fit into the smallest GPU once the changes are in."""
    argv = command(playbook, survey, changes)
    given = arguments_of(argv)
    configs = dict(survey.checkpoint.configs)
    for change in changes:
        configs.update(change.edits.after if change.edits else {})
    dtype = kv_dtype(playbook, configs, version, argv)
    if CONFIG not in configs and changes:  # their edits will be worked out when the files are there
        dtype = "auto"
    return sizing.fit(
        memory_gib=sizing.smallest_memory_gib([card.memory_mib for card in survey.facts.cards]),
        weights_bytes=survey.checkpoint.weights_bytes or playbook.figures.weights_bytes,
        kv_bytes_per_token=_kv_bytes(playbook, configs, dtype),
        context=int(_number(given.get("max_model_len")) or playbook.context),
        utilisation=_number(given.get("gpu_memory_utilization")) or sizing.default_utilisation(version),
        gpus=playbook.parallel.tensor * playbook.parallel.pipeline,
        replicated_bytes=playbook.figures.replicated_bytes,
        context_parallel=int(_number(given.get("decode_context_parallel_size")) or 1),
    )


def gpu_shortage(
    playbook: Playbook,
    survey: Survey,
    version: str | None,
    argv: Sequence[str],
    environment: Mapping[str, str],
    *,
    now: Mapping[str, Any] | None = None,
) -> gpu_room.Shortage | None:
    """The card on which this launch would be refused for want of free memory; what vLLM needs besides is `fit`'s matter.

    `now` is what the host answered when it had waited for memory; without it the facts tell.
    """
    here, told = survey.facts.of(machine.FACT), survey.facts.of(gpu_processes.FACT)
    if survey.engine is not None and survey.engine.on_cpu:
        return None
    ambient = here.cuda_visible_devices if isinstance(here, Machine) else None
    share = _number(arguments_of(tuple(argv)).get("gpu_memory_utilization")) or sizing.default_utilisation(
        version
    )
    by_bus = environment.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID"
    launch = gpu_room.Launch(playbook.parallel.gpus, share, environment.get(VISIBLE, ambient), by_bus)
    if now is not None:
        short = gpu_room.shortage(*gpu_room.after_waiting(survey.facts.cards, now), launch)
    elif not isinstance(told, Unknown):
        short = gpu_room.shortage(survey.facts.cards, told, launch, own=survey.facts.own)
    else:
        return None
    if short is None or short.lower is None:
        return short
    lowered = {**playbook.arguments, "gpu-memory-utilization": short.lower}
    fits = fit(playbook.model_copy(update={"arguments": lowered}), survey, version)
    return replace(short, lower=None) if fits.verdict == "does_not_fit" else short


def kv_dtype(
    playbook: Playbook, configs: Mapping[str, bytes], version: str | None, argv: Sequence[str]
) -> str:
    """What the KV cache would be stored as: vLLM's name for it, "auto" for the model's own dtype."""
    explicit = arguments_of(tuple(argv)).get("kv_cache_dtype", "auto")
    if explicit != "auto":
        return explicit
    if CONFIG not in configs:
        return "fp8_e4m3" if playbook.figures.kv_cache == "fp8" else "auto"
    return resolved_kv_dtype(configs, version) if version else "auto"


def attention(playbook: Playbook, configs: Mapping[str, bytes]) -> str | None:
    """The kind of attention, from config.json or else from the playbook's figures."""
    if CONFIG in configs:
        return architecture.read(json.loads(configs[CONFIG])).attention
    return "mla" if playbook.figures.kv_lora_rank else None


def _kv_bytes(playbook: Playbook, configs: Mapping[str, bytes], dtype: str) -> int | None:
    if CONFIG in configs:
        shape = architecture.read(json.loads(configs[CONFIG]))
        return architecture.kv_bytes_per_token(shape, dtype, playbook.parallel.tensor)
    return _figured_kv_bytes(playbook.figures, 1 if dtype.startswith("fp8") else 2, playbook.parallel.tensor)


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


def _number(text: str | None) -> float | None:
    """The number that an option has, None where it is none that can be reckoned with: the engine will refuse it."""
    try:
        value = float(text) if text is not None else None
    except ValueError:
        return None
    return value if value is not None and abs(value) <= _MOST else None
