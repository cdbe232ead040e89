"""Through which of its functions does vLLM 0.16.0 come when something fails?"""

from __future__ import annotations

from .printing import PrintedFrame

_EXECUTOR = "vllm/v1/executor/multiproc_executor.py"
_CORE = "vllm/v1/engine/core.py"
_STARTED: list[PrintedFrame] = [
    (_EXECUTOR, 754, "worker_main", "worker = WorkerProc(*args, **kwargs)"),
    ("vllm/tracing/otel.py", 178, "sync_wrapper", "return func(*args, **kwargs)"),
]

SELECTOR: list[PrintedFrame] = [
    *_STARTED,
    (_EXECUTOR, 580, "__init__", "self.worker.load_model()"),
    (
        "vllm/v1/worker/gpu_worker.py",
        292,
        "load_model",
        "self.model_runner.load_model(eep_scale_up=eep_scale_up)",
    ),
    ("vllm/v1/worker/gpu_model_runner.py", 4143, "load_model", "self.model = model_loader.load_model("),
    ("vllm/model_executor/model_loader/base_loader.py", 54, "load_model", "model = initialize_model("),
    (
        "vllm/model_executor/model_loader/utils.py",
        54,
        "initialize_model",
        "model = model_class(vllm_config=vllm_config, prefix=prefix)",
    ),
    ("vllm/model_executor/models/deepseek_v2.py", 1210, "__init__", "self.model = self.model_cls("),
    (
        "vllm/model_executor/models/utils.py",
        707,
        "make_layers",
        'maybe_offload_to_cpu(layer_fn(prefix=f"{prefix}.{idx}"))',
    ),
    ("vllm/model_executor/models/deepseek_v2.py", 941, "__init__", "self.self_attn = attn_cls("),
    (
        "vllm/model_executor/models/deepseek_v2.py",
        875,
        "__init__",
        "self.mla_attn = MultiHeadLatentAttentionWrapper(",
    ),
    ("vllm/model_executor/layers/mla.py", 95, "__init__", "self.mla_attn = MLAAttention("),
    (
        "vllm/model_executor/layers/attention/mla_attention.py",
        330,
        "__init__",
        "self.attn_backend = get_attn_backend(",
    ),
    ("vllm/v1/attention/selector.py", 83, "get_attn_backend", "return _cached_get_attn_backend("),
    (
        "vllm/v1/attention/selector.py",
        96,
        "_cached_get_attn_backend",
        "attention_cls = current_platform.get_attn_backend_cls(",
    ),
    ("vllm/platforms/cuda.py", 354, "get_attn_backend_cls", "raise ValueError("),
]

DEVICE: list[PrintedFrame] = [
    *_STARTED,
    (_EXECUTOR, 571, "__init__", "self.worker.init_device()"),
    ("vllm/v1/worker/worker_base.py", 326, "init_device", "self.worker.init_device()"),
]
FREE_MEMORY: list[PrintedFrame] = [
    *DEVICE,
    (
        "vllm/v1/worker/gpu_worker.py",
        262,
        "init_device",
        "self.requested_memory = request_memory(init_snapshot, ...)",
    ),
    ("vllm/v1/worker/utils.py", 102, "request_memory", "raise ValueError("),
]
NCCL: list[PrintedFrame] = [
    *DEVICE,
    ("vllm/v1/worker/gpu_worker.py", 245, "init_device", "init_worker_distributed_environment("),
    (
        "vllm/distributed/device_communicators/pynccl.py",
        138,
        "__init__",
        "self.comm: ncclComm_t = self.nccl.ncclCommInitRank(",
    ),
    (
        "vllm/distributed/device_communicators/pynccl_wrapper.py",
        373,
        "NCCL_CHECK",
        'raise RuntimeError(f"NCCL error: {error_str}")',
    ),
]
MEETING: list[PrintedFrame] = [
    *DEVICE,
    ("vllm/v1/worker/gpu_worker.py", 245, "init_device", "init_worker_distributed_environment("),
    (
        "vllm/distributed/parallel_state.py",
        1210,
        "init_distributed_environment",
        "torch.distributed.init_process_group(",
    ),
    ("torch/distributed/c10d_logger.py", 83, "wrapper", "return func(*args, **kwargs)"),
]
ALL_LOADED: list[PrintedFrame] = [
    *_STARTED,
    (_EXECUTOR, 591, "__init__", "self._init_message_queues(input_shm_handle, vllm_config)"),
    (
        "vllm/distributed/parallel_state.py",
        1801,
        "in_the_same_node_as",
        "torch.distributed.barrier(group=pg)",
    ),
    ("torch/distributed/distributed_c10d.py", 4893, "barrier", "work.wait()"),
]
NOBODY_KNOWS: list[PrintedFrame] = [
    *DEVICE,
    ("vllm/v1/worker/ledger.py", 88, "open_ledger", "raise LedgerTornError(page)"),
]
REQUEST: list[PrintedFrame] = [
    (_EXECUTOR, 859, "worker_busy_loop", "output = func(*args, **kwargs)"),
    ("vllm/v1/worker/gpu_worker.py", 655, "execute_model", "output = self.model_runner.execute_model("),
    ("vllm/v1/worker/gpu_model_runner.py", 3519, "execute_model", "self._bookkeeping_sync("),
]

COLLECTIVE: list[PrintedFrame] = [
    *REQUEST[:2],
    ("vllm/v1/worker/gpu_worker.py", 640, "execute_model", "get_pp_group().irecv_tensor_dict("),
    ("torch/distributed/distributed_c10d.py", 2531, "recv", "work.wait()"),
]

_ENGINE: list[PrintedFrame] = [
    (_CORE, 996, "run_engine_core", "engine_core = EngineCoreProc(*args, engine_index=dp_rank, **kwargs)"),
    ("vllm/tracing/otel.py", 178, "sync_wrapper", "return func(*args, **kwargs)"),
    (_CORE, 740, "__init__", "super().__init__("),
]
WORKERS: list[PrintedFrame] = [
    *_ENGINE,
    (_CORE, 106, "__init__", "self.model_executor = executor_class(vllm_config)"),
    ("vllm/v1/executor/abstract.py", 103, "__init__", "self._init_executor()"),
    (_EXECUTOR, 166, "_init_executor", "self.workers = WorkerProc.wait_for_ready(unready_workers)"),
    (_EXECUTOR, 680, "wait_for_ready", "raise e from None"),
]
KV_CACHE: list[PrintedFrame] = [
    *_ENGINE,
    (_CORE, 113, "__init__", "num_gpu_blocks, num_cpu_blocks, kv_cache_config = self._initialize_kv_caches("),
    (_CORE, 259, "_initialize_kv_caches", "kv_cache_configs = get_kv_cache_configs("),
    ("vllm/v1/core/kv_cache_utils.py", 1516, "get_kv_cache_configs", "_check_enough_kv_cache_memory("),
    ("vllm/v1/core/kv_cache_utils.py", 634, "_check_enough_kv_cache_memory", "raise ValueError("),
]
HEADLESS: list[PrintedFrame] = [
    ("vllm/entrypoints/cli/main.py", 73, "main", "args.dispatch_function(args)"),
    (
        "vllm/entrypoints/cli/serve.py",
        158,
        "run_headless",
        "executor = MultiprocExecutor(vllm_config, monitor_workers=False)",
    ),
    ("vllm/v1/executor/abstract.py", 103, "__init__", "self._init_executor()"),
    (_EXECUTOR, 166, "_init_executor", "self.workers = WorkerProc.wait_for_ready(unready_workers)"),
    (_EXECUTOR, 680, "wait_for_ready", "raise e from None"),
]
BUSY: list[PrintedFrame] = [
    (_CORE, 1012, "run_engine_core", "engine_core.run_busy_loop()"),
    (_CORE, 1039, "run_busy_loop", "self._process_engine_step()"),
    (_EXECUTOR, 375, "get_response", "raise RuntimeError("),
]
OUTPUT: list[PrintedFrame] = [
    ("vllm/v1/engine/async_llm.py", 624, "output_handler", "outputs = await engine_core.get_output_async()"),
    (
        "vllm/v1/engine/core_client.py",
        884,
        "get_output_async",
        "raise self._format_exception(outputs) from None",
    ),
]
API: list[PrintedFrame] = [
    ("vllm/entrypoints/openai/api_server.py", 991, "<module>", "uvloop.run(run_server(args))"),
    ("vllm/v1/engine/utils.py", 925, "launch_core_engines", "wait_for_engine_startup("),
    ("vllm/v1/engine/utils.py", 984, "wait_for_engine_startup", "raise RuntimeError("),
]
