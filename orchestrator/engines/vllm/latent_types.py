"""Which model types does vLLM take for multi-head latent attention (MLA)?

Those of `is_deepseek_mla` (`transformers_utils/model_arch_config_convertor.py`, 0.32.0), in one place: by them a checkpoint's FP8
scales are read and a token is sized. A rank alone is no MLA: MiniCPM3 has one too.
"""

from __future__ import annotations

_ALIKE = "axk1 deepseek_v2 deepseek_v3 deepseek_v32 glm4_moe_lite glm_moe_dsa kimi_k2 longcat_flash pangu_ultra_moe"
_OTHERS = """
    bailing_hybrid bailing_hybrid_mtp bailing_hybrid_v3_mtp deepseek_mtp deepseek_v4 deepseek_v41 dots3_note
    glm4_moe_lite_mtp glm5_next glm5_next_text hy_v4 hy_v4_mtp k3_dspark kimi_linear pangu_ultra_moe_mtp
"""

ALIKE = frozenset(_ALIKE.split())
"""Each of their layers keeps a latent of one size."""
MLA = ALIKE | frozenset(_OTHERS.split())
