"""Which variables of vLLM's environment may a remedy touch?"""

from __future__ import annotations

import re

from orchestrator.engines.rules import VariableRules

RULES = VariableRules(
    own=re.compile(r"(?:VLLM|NCCL|TORCH|PYTORCH|TRITON|FLASHINFER|RAY|CUDA)_\w+"),
    dropped_only=re.compile(
        r"\w*(?:_SO_PATH|_FRONTEND_PATH|_REDIRECT_PATH|_CONFIG_PATH|_CONFIG_ROOT)"
        r"|VLLM_(?:ALLOW_(?!LONG_MAX_MODEL_LEN$|CHUNKED_)|SERVER_DEV_MODE|USE_MODELSCOPE|LORA_RESOLVER|RAY_EXTRA)\w*"
    ),
)
