"""Which checkpoint is small enough for a real engine on a CPU, and is refused like the flagship's?

DeepSeek-V3's shape, MLA, with ModelOpt metadata that asks for an FP8 KV cache.

vLLM takes it for what it takes Kimi-K2.5-NVFP4 for: MLA attention, and an FP8 KV cache wherever
`--kv-cache-dtype` is auto. Its weights are random and stay bf16 ("ignore": ["*"]).
"""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

from orchestrator.rehearsal.shard_file import Tensors, write_shards

LAYERS, HIDDEN, VOCABULARY, HEADS = 2, 128, 320, 8
KV_RANK, ROPE, NOPE, VALUE, Q_RANK = 512, 64, 128, 128, 64
DENSE, EXPERT, EXPERTS = 256, 64, 4
WORDS = "the model host engine launch shard token cache server deploy answer number memory port log"
CONFIGS = ("config.json", "hf_quant_config.json", "generation_config.json")

_PRODUCER = {"name": "modelopt", "version": "0.41.0"}
_FOUR_BITS = {"dynamic": False, "num_bits": 4, "type": "float", "group_size": 16}


def make(folder: Path, seed: int = 0) -> Path:
    """Write the checkpoint: six shards and their index, the configs, a tokenizer; gives `folder` back."""
    folder.mkdir(parents=True, exist_ok=True)
    random = Random(seed)

    def fill(name: str, count: int) -> bytes:
        return _bf16(name, count // 2, random)

    shards: list[Tensors] = [
        {name: ("BF16", shape) for name, shape in shapes.items()} for shapes in _shards()
    ]
    write_shards(folder, shards, fill)
    _write(folder / "config.json", _config())
    _write(folder / "hf_quant_config.json", _sidecar(), indent=4)
    _write(folder / "generation_config.json", {
        "_from_model_config": True, "bos_token_id": 0, "eos_token_id": 1, "use_cache": True,
    })  # fmt: skip
    _write(folder / "tokenizer.json", _tokenizer())
    _write(folder / "tokenizer_config.json", {
        "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>",
        "model_max_length": 512, "tokenizer_class": "PreTrainedTokenizerFast",
    })  # fmt: skip
    return folder


Shapes = dict[str, tuple[int, ...]]

# A bf16 number is sign, 8 bits of exponent, 7 of mantissa; 121 is the exponent of 1/64.
_LOW = bytes((121 & 1) << 7 | byte & 0x7F for byte in range(256))
_HIGH = bytes(byte & 0x80 | 121 >> 1 for byte in range(256))


def _shards() -> list[Shapes]:
    first, second = _layer(0), _layer(1)
    first_attention, second_attention = _attention(0), _attention(1)
    norm = "input_layernorm.weight"
    late = ("o_proj", "q_a_layernorm", "q_a_proj", "q_b_proj")

    def part(attention: Shapes, *names: str) -> Shapes:
        return {k: v for k, v in attention.items() if k.split(".")[-2] in names}

    embeddings: Shapes = {
        "lm_head.weight": (VOCABULARY, HIDDEN),
        "model.embed_tokens.weight": (VOCABULARY, HIDDEN),
    }
    return [
        {**embeddings, **first, **part(first_attention, "kv_a_layernorm")},
        part(first_attention, "kv_b_proj"),
        {**part(first_attention, "kv_a_proj_with_mqa", *late), f"model.layers.1.{norm}": (HIDDEN,)},
        part(second_attention, "kv_b_proj"),
        {
            **{k: v for k, v in second.items() if not k.endswith(norm)},
            **part(second_attention, "kv_a_layernorm", "kv_a_proj_with_mqa"),
        },
        {**part(second_attention, *late), "model.norm.weight": (HIDDEN,)},
    ]


def _attention(layer: int) -> Shapes:
    shapes = {
        "kv_a_layernorm": (KV_RANK,),
        "kv_a_proj_with_mqa": (KV_RANK + ROPE, HIDDEN),
        "kv_b_proj": (HEADS * (NOPE + VALUE), KV_RANK),
        "o_proj": (HIDDEN, HEADS * VALUE),
        "q_a_layernorm": (Q_RANK,),
        "q_a_proj": (Q_RANK, HIDDEN),
        "q_b_proj": (HEADS * (NOPE + ROPE), Q_RANK),
    }
    return {f"model.layers.{layer}.self_attn.{name}.weight": shape for name, shape in shapes.items()}


def _layer(layer: int) -> Shapes:
    """Norms and the MLP: dense in the first layer, experts in the second."""
    shapes: Shapes = {"input_layernorm": (HIDDEN,), "post_attention_layernorm": (HIDDEN,)}
    if layer == 0:
        shapes |= _mlp("mlp", DENSE)
    else:
        for expert in range(EXPERTS):
            shapes |= _mlp(f"mlp.experts.{expert}", EXPERT)
        shapes |= {**_mlp("mlp.shared_experts", EXPERT), "mlp.gate": (EXPERTS, HIDDEN)}
    named = {f"model.layers.{layer}.{name}.weight": shape for name, shape in shapes.items()}
    if layer:
        named[f"model.layers.{layer}.mlp.gate.e_score_correction_bias"] = (EXPERTS,)
    return named


def _mlp(name: str, width: int) -> Shapes:
    return {
        f"{name}.down_proj": (HIDDEN, width),
        f"{name}.gate_proj": (width, HIDDEN),
        f"{name}.up_proj": (width, HIDDEN),
    }


def _bf16(name: str, count: int, random: Random) -> bytes:
    """Ones for norms, zeros for biases, else numbers of either sign between 1/64 and 1/32: as wide as usual."""
    if "norm" in name:
        return b"\x80\x3f" * count
    if name.endswith("bias"):
        return b"\0\0" * count
    values = bytearray(2 * count)
    values[0::2] = random.randbytes(count).translate(_LOW)
    values[1::2] = random.randbytes(count).translate(_HIGH)
    return bytes(values)


def _write(path: Path, value: object, indent: int = 2) -> None:
    path.write_text(json.dumps(value, indent=indent))


def _config() -> dict[str, object]:
    return {
        "architectures": ["DeepseekV3ForCausalLM"], "attention_bias": False, "attention_dropout": 0.0,
        "bos_token_id": 0, "dtype": "bfloat16", "eos_token_id": 1, "first_k_dense_replace": 1,
        "head_dim": ROPE, "hidden_act": "silu", "hidden_size": HIDDEN, "initializer_range": 0.02,
        "intermediate_size": DENSE, "kv_lora_rank": KV_RANK, "max_position_embeddings": 512,
        "model_type": "deepseek_v3", "moe_intermediate_size": EXPERT, "n_group": 1,
        "n_routed_experts": EXPERTS, "n_shared_experts": 1, "norm_topk_prob": True,
        "num_attention_heads": HEADS, "num_experts_per_tok": 2, "num_hidden_layers": LAYERS,
        "num_key_value_heads": HEADS, "num_nextn_predict_layers": 1, "pad_token_id": None,
        "q_lora_rank": Q_RANK, "qk_head_dim": NOPE + ROPE, "qk_nope_head_dim": NOPE,
        "qk_rope_head_dim": ROPE, "rms_norm_eps": 1e-06, "rope_interleave": True,
        "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"},
        "routed_scaling_factor": 2.5, "scoring_func": "sigmoid", "tie_word_embeddings": False,
        "topk_group": 1, "topk_method": "noaux_tc", "use_cache": True, "v_head_dim": VALUE,
        "vocab_size": VOCABULARY,
        "quantization_config": {
            "quant_method": "modelopt", "quant_algo": "NVFP4",
            "config_groups": {
                "group_0": {"input_activations": _FOUR_BITS, "weights": _FOUR_BITS, "targets": ["Linear"]}
            },
            "group_size": 16, "ignore": ["*"],
            "kv_cache_scheme": {"dynamic": False, "num_bits": 8, "type": "float"},
            "producer": _PRODUCER,
        },
    }  # fmt: skip


def _sidecar() -> dict[str, object]:
    return {
        "producer": _PRODUCER,
        "quantization": {
            "quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8", "group_size": 16, "exclude_modules": ["*"],
        },
    }  # fmt: skip


def _tokenizer() -> dict[str, object]:
    """A byte-level BPE of 320 entries: 3 special ones, the 256 bytes, 61 merges that spell WORDS."""
    special = ["<unk>", "<s>", "</s>"]
    vocabulary = special + sorted(_byte_letters())
    merges: list[list[str]] = []
    for word in WORDS.split():
        left = "Ġ"
        for letter in word:
            if left + letter not in vocabulary and len(vocabulary) < VOCABULARY:
                merges.append([left, letter])
                vocabulary.append(left + letter)
            left += letter
    level = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
    plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [{"id": n, "content": token, **plain} for n, token in enumerate(special)],
        "normalizer": None, "pre_tokenizer": level, "post_processor": None, "decoder": level,
        "model": {
            "type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
            "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False,
            "vocab": {token: n for n, token in enumerate(vocabulary)}, "merges": merges,
        },
    }  # fmt: skip


def _byte_letters() -> list[str]:
    """GPT-2's letter for each byte: printable bytes stand for themselves, the others from U+0100 on."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return [chr(byte) for byte in printable] + [chr(0x100 + n) for n in range(len(others))]
