"""By which rule is a model sized: which family is its text model's type?

The types are those of the config classes in Transformers and vLLM, the rules those of vLLM's model classes. A type that
stands nowhere here is not known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from orchestrator.engines.vllm import latent_types
from orchestrator.engines.vllm.sizing import heads, latent, mamba, states, windows
from orchestrator.engines.vllm.sizing.shape import ModelShape
from orchestrator.engines.vllm.sizing.windows import Layers

Family: TypeAlias = Callable[[ModelShape], Layers]

_TYPES: tuple[tuple[Family, str], ...] = (
    (
        windows.uniform,
        "arcee baichuan bailing_moe bailing_moe_v2 bloom cohere deepseek deepseek_vl_v2 ernie4_5 ernie4_5_moe exaone "
        "flex_olmo gemma glm glm4 glm4_moe glm4v_moe_text glm4v_text glm_ocr_text gpt2 gpt_neox gptj "
        "granitemoe granitemoeshared hunyuan_v1_dense hunyuan_v1_moe hy_v3 hyperclovax internlm2 internlm3 jais2 llava "
        "minicpm minimax_m2 ministral3 mistral mixtral nemotron olmo olmo2 olmoe opt orion phi phi3 phi3_v phimoe "
        "qwen seed_oss smollm3 solar stablelm starcoder2 telechat2 voxtral xverse",
    ),
    (
        windows.qwen,
        "mimo qwen2 qwen2_5_omni_text qwen2_5_vl qwen2_5_vl_text qwen2_moe qwen2_vl qwen2_vl_text qwen3 qwen3_moe "
        "qwen3_omni_moe_text qwen3_vl_moe_text qwen3_vl_text",
    ),
    (windows.by_layer, "apertus granite iquestcoder llama telechat3"),
    (windows.every_other, "gemma2 gpt_oss"),
    (windows.cohere2, "cohere2"),
    (windows.patterned, "afmoe exaone4 gemma3_text olmo3"),
    (windows.gemma4, "gemma4_text"),
    (windows.listed, "exaone_moe gemma3n_text laguna"),
    (windows.step3p5, "step3p5"),
    (windows.llama4, "llama4_text"),
    (windows.mimo_v2, "mimo_v2 mimo_v2_flash"),
    (latent.mla, "mistral4"),
    (latent.deepseek_v4, "deepseek_v4"),
    (latent.minimax_m3, "minimax_m3_vl"),
    (states.qwen3_next, "qwen3_5_moe_text qwen3_5_text qwen3_next"),
    (states.lfm2, "lfm2 lfm2_moe"),
    (states.kimi_linear, "kimi_linear"),
    (states.bailing_hybrid, "bailing_hybrid"),
    (mamba.jamba, "jamba"),
    (mamba.nemotron_h, "nemotron_h"),
    (mamba.granite_hybrid, "granitemoehybrid"),
    (mamba.falcon_h1, "falcon_h1"),
    (mamba.zamba2, "zamba2"),
    (heads.chatglm, "chatglm"),
    (heads.dbrx, "dbrx"),
    (heads.falcon, "falcon"),
    (heads.minicpm3, "minicpm3"),
    (heads.nemotron_nas, "nemotron-nas"),
    (heads.whisper, "whisper"),
    (heads.nothing, "bert modernbert nomic_bert roberta xlm-roberta"),
)
FAMILIES: Mapping[str, Family] = {
    **dict.fromkeys(latent_types.ALIKE, latent.mla),
    **{name: family for family, names in _TYPES for name in names.split()},
}
