"""What does vLLM (0.6 to 0.33) do in which of its source files, in words for somebody who has only a traceback's frames?"""

from __future__ import annotations

import re

from orchestrator.engines.libraries import LIBRARIES
from orchestrator.engines.log_grammar import Doing

_OWN = tuple(
    Doing(re.compile(frame), words)
    for frame, words in (
        (r"/attention/selector\.py:|:_?(?:cached_)?get_attn_backend", "choosing an attention backend"),
        (r":(?:select_\w*moe_backend|select_\w*experts|make_\w*moe_kernel)", "choosing a MoE backend"),
        (r":(?:determine_available_memory|determine_num_available_blocks|profile_run|_dummy_run|_dummy_sampler_run)$", "measuring the memory that a step takes"),
        (r"/kv_cache_utils\.py:|:(?:_?initialize_kv_caches?|allocate_kv_cache\w*|get_kv_cache_\w+|_allocate_kv_cache)$", "allocating the KV cache"),
        (r":(?:capture_model|_capture_cudagraphs|capture_graphs?|capture)$|/torch/cuda/graphs\.py:", "capturing CUDA graphs"),
        (r"/vllm/compilation/", "compiling the model (torch.compile)"),
        (r"/model_loader/|/weight_utils\.py:|:load_weights$|:weight_loader", "loading the weights"),
        (r"/layers/fused_moe/", "setting up its MoE layers"),
        (r"/layers/quantization/", "setting up its quantised layers"),
        (r"/models/registry\.py:", "looking up the model's architecture"),
        (r"/model_executor/models/.*:__init__$", "building the model"),
        (r"/attention/", "setting up attention"),
        (r"/(?:kv_transfer|kv_connector)/", "connecting the KV transfer"),
        (r"/device_communicators/", "setting up the links between its ranks"),
        (r"/parallel_state\.py:|:init_worker_distributed_environment$", "joining the other ranks"),
        (r":init_device$", "setting up its GPU"),
        (r"/transformers_utils/(?:config|repo_utils)", "reading the model's config"),
        (r"/flashinfer/(?:jit|compilation)", "building a FlashInfer kernel"),
        (r"/deep_gemm/", "building a DeepGEMM kernel"),
        (r"/(?:tokenizers?|tokenizer_group)\b", "loading the tokenizer"),
        (r"/multimodal/", "preparing multi-modal input"),
        (r"/lora/", "loading a LoRA adapter"),
        (r"/spec_decode/", "setting up speculative decoding"),
        (r"/vllm/config/|/arg_utils\.py:|:create_engine_config$", "working out its configuration"),
        (r":(?:execute_model|_model_forward|forward)$", "running a step of the model"),
        (r"/sample/", "sampling tokens"),
        (r"/vllm/platforms/", "asking what the platform can do"),
    )
)  # fmt: skip
_WAITS = tuple(
    Doing(re.compile(frame), words, waits=True)
    for frame, words in (
        (r":(?:wait_for_engine_startup|launch_core_engines|_wait_for_engine_startup|wait_for_completion_or_failure)$", "waiting for the engine core to start"),
        (r"/multiproc_executor\.py:(?:wait_for_ready|wait_for_response_handle_ready|get_response|collective_rpc)$", "waiting for its workers"),
        (r"/shm_broadcast\.py:(?:dequeue|acquire_read)$", "waiting for another process"),
    )
)  # fmt: skip
DOINGS = (*_WAITS, *_OWN, *LIBRARIES)
