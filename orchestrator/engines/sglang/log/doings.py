"""What does SGLang (0.4 to 0.5.23) do in which of its source files, in words for somebody who has only a traceback's frames?"""

from __future__ import annotations

import re

from orchestrator.engines.libraries import LIBRARIES
from orchestrator.engines.log_grammar import Doing

_OWN = tuple(
    Doing(re.compile(frame), words)
    for frame, words in (
        (r"/cuda_graph_runner\.py:|/torch/cuda/graphs\.py:", "capturing CUDA graphs"),
        (r"/memory_pool|:init_memory_pool$|:profile_max_num_token$", "allocating the KV cache"),
        (
            r":(?:init_attention_backend|_get_attention_backend\w*)$|/layers/attention/",
            "setting up attention",
        ),
        (r"/model_loader/|:load_weights$", "loading the weights"),
        (r"/layers/moe/", "setting up its MoE layers"),
        (r"/layers/quantization/", "setting up its quantised layers"),
        (r"/model_config\.py:|/hf_transformers_utils", "reading the model's config"),
        (r":init_torch_distributed$|/parallel_state\.py:", "joining the other ranks"),
        (r"/server_args\.py:", "working out its arguments"),
        (r":forward\w*$", "running a step of the model"),
    )
)
_WAITS = (
    Doing(re.compile(r":(?:_launch_subprocesses|_wait_for_scheduler_ready)$"), "waiting for its schedulers to start", waits=True),
)  # fmt: skip
DOINGS = (*_WAITS, *_OWN, *LIBRARIES)
