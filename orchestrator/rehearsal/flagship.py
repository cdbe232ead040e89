"""Which checkpoint is Kimi-K2.5-NVFP4 in everything but the size of its tensors?

Configs, index, tensor names and dtypes are of the real one's kind; the tensors themselves are a few kilobytes each, so that sixteen
shards take about 4 MB. Config files are written as the real ones are: indent 4, no newline at the end.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from random import Random

from orchestrator.rehearsal.shard_file import Tensors, write_shards

SHARDS = 16
LAYERS = 61
WIDTH = 64
"""Rows and columns of a tensor that has thousands in the real checkpoint."""

_PRODUCER = {"name": "modelopt", "version": "0.41.0"}
_IGNORED = ["language_model.lm_head", "language_model.model.embed_tokens", "mm_projector*", "vision_tower*"]
_FOUR_BITS = {"dynamic": False, "group_size": 16, "num_bits": 4, "type": "float"}


def make(folder: Path, seed: int = 0) -> Path:
    """Write the checkpoint: shards and their index, the configs, a tokenizer; gives `folder` back."""
    folder.mkdir(parents=True, exist_ok=True)
    random = Random(seed)
    write_shards(folder, _shards(), lambda _, count: random.randbytes(count))
    _write(folder / "config.json", _config())
    _write(folder / "hf_quant_config.json", _sidecar())
    _write(folder / "generation_config.json", {"eos_token_id": 163586, "max_length": 262144})
    _write(folder / "tokenizer_config.json", {
        "bos_token": "[BOS]", "eos_token": "[EOS]", "model_max_length": 262144,
        "tokenizer_class": "TikTokenTokenizer", "unk_token": "[UNK]",
    })  # fmt: skip
    words = (base64.b64encode(bytes([byte])) + b" %d\n" % byte for byte in range(256))
    (folder / "tiktoken.model").write_bytes(b"".join(words))
    return folder


def _write(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=4, sort_keys=path.name == "config.json"))


def _shards() -> list[Tensors]:
    """The layers in their order, dealt out evenly; embeddings first, the rest last."""
    head = "language_model.model"
    shards: list[dict[str, tuple[str, tuple[int, ...]]]] = [{} for _ in range(SHARDS)]
    shards[0][f"{head}.embed_tokens.weight"] = ("BF16", (4 * WIDTH, WIDTH))
    for layer in range(LAYERS):
        shards[layer * SHARDS // LAYERS] |= _layer(f"{head}.layers.{layer}", dense=layer == 0)
    shards[-1][f"{head}.norm.weight"] = ("BF16", (WIDTH,))
    shards[-1]["language_model.lm_head.weight"] = ("BF16", (4 * WIDTH, WIDTH))
    shards[-1]["mm_projector.linear_1.weight"] = ("BF16", (WIDTH, WIDTH))
    return list(shards)


def _layer(name: str, *, dense: bool) -> Tensors:
    square = ("BF16", (WIDTH, WIDTH))
    row = ("BF16", (WIDTH,))
    tensors = {
        "input_layernorm.weight": row,
        "post_attention_layernorm.weight": row,
        "self_attn.kv_a_layernorm.weight": row,
        "self_attn.q_a_layernorm.weight": row,
        **{
            f"self_attn.{part}.weight": square
            for part in ("kv_a_proj_with_mqa", "kv_b_proj", "o_proj", "q_a_proj", "q_b_proj")
        },
        "self_attn.k_proj.k_scale": ("F32", ()),
        "self_attn.v_proj.v_scale": ("F32", ()),
    }
    if not dense:
        tensors |= {"mlp.gate.weight": row, "mlp.gate.e_score_correction_bias": ("F32", (WIDTH,))}
    owner = "mlp" if dense else "mlp.experts.0"
    for part in ("down_proj", "gate_proj", "up_proj"):
        tensors[f"{owner}.{part}.weight"] = ("U8", (WIDTH, WIDTH // 2))
        tensors[f"{owner}.{part}.weight_scale"] = ("F8_E4M3", (WIDTH, WIDTH // 16))
        tensors[f"{owner}.{part}.weight_scale_2"] = ("F32", ())
        tensors[f"{owner}.{part}.input_scale"] = ("F32", ())
    return {f"{name}.{part}": tensor for part, tensor in tensors.items()}


def _config() -> dict[str, object]:
    return {
        "architectures": ["KimiK25ForConditionalGeneration"],
        "auto_map": {
            "AutoConfig": "configuration_kimi_k25.KimiK25Config",
            "AutoModel": "modeling_kimi_k25.KimiK25ForConditionalGeneration",
        },
        "bos_token_id": 163584, "dtype": "bfloat16", "eos_token_id": 163586, "ignore_index": -100,
        "media_placeholder_token_id": 163605, "model_type": "kimi_k25", "pad_token_id": 163839,
        "quantization_config": {
            "config_groups": {
                "group_0": {"input_activations": _FOUR_BITS, "targets": ["Linear"], "weights": _FOUR_BITS}
            },
            "ignore": _IGNORED,
            "kv_cache_scheme": {"dynamic": False, "num_bits": 8, "type": "float"},
            "producer": _PRODUCER,
            "quant_algo": "NVFP4",
            "quant_method": "modelopt",
        },
        "text_config": _text_config(),
        "tie_word_embeddings": False,
        "vision_config": {
            "mm_hidden_size": 1152, "mm_projector_type": "patchmerger", "patch_size": 14, "text_hidden_size": 7168,
            "vt_hidden_size": 1152, "vt_num_attention_heads": 16, "vt_num_hidden_layers": 27,
        },
    }  # fmt: skip


def _text_config() -> dict[str, object]:
    return {
        "architectures": ["DeepseekV3ForCausalLM"], "attention_bias": False, "attention_dropout": 0.0,
        "bos_token_id": 163584, "eos_token_id": 163586, "first_k_dense_replace": 1, "hidden_act": "silu",
        "hidden_size": 7168, "initializer_range": 0.02, "intermediate_size": 18432, "kv_lora_rank": 512,
        "max_position_embeddings": 262144, "model_type": "deepseek_v3", "moe_intermediate_size": 2048,
        "moe_layer_freq": 1, "n_group": 1, "n_routed_experts": 384, "n_shared_experts": 1,
        "norm_topk_prob": True, "num_attention_heads": 64, "num_experts_per_tok": 8,
        "num_hidden_layers": LAYERS, "num_key_value_heads": 64, "num_nextn_predict_layers": 0,
        "pad_token_id": 163839, "q_lora_rank": 1536, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
        "rms_norm_eps": 1e-05,
        "rope_scaling": {
            "beta_fast": 32.0, "beta_slow": 1.0, "factor": 64.0, "mscale": 1.0, "mscale_all_dim": 1.0,
            "original_max_position_embeddings": 4096, "type": "yarn",
        },
        "rope_theta": 50000.0, "routed_scaling_factor": 2.827, "scoring_func": "sigmoid", "seq_aux": True,
        "tie_word_embeddings": False, "topk_group": 1, "topk_method": "noaux_tc", "use_cache": True,
        "v_head_dim": 128, "vocab_size": 163840,
    }  # fmt: skip


def _sidecar() -> dict[str, object]:
    return {
        "producer": _PRODUCER,
        "quantization": {
            "quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8", "group_size": 16, "exclude_modules": _IGNORED,
        },
    }  # fmt: skip
