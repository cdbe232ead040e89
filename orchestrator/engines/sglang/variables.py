"""Which variables of SGLang's environment may a remedy touch?"""

from __future__ import annotations

import re

from orchestrator.engines.rules import VariableRules

RULES = VariableRules(
    own=re.compile(r"(?:SGLANG|SGL|NCCL|TORCH|PYTORCH|TRITON|FLASHINFER|RAY|CUDA)_\w+"),
    dropped_only=re.compile(
        r"VLLM_\w+|\w*(?:_SO_PATH|_CONFIG_PATH|_DIR)|SGLANG_(?:USE_MODELSCOPE|PLUGINS?|ALLOW_\w+|EXTERNAL_\w+)"
    ),
)
"""Another engine's variables (`VLLM_`) say nothing to this one: a remedy sets none."""
