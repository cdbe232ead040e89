"""Which milestones does a start of vLLM pass, and with which words does another one begin?"""

from __future__ import annotations

import re
from types import MappingProxyType

from orchestrator.engines.log_grammar import Start
from orchestrator.engines.vllm.log import portrait

_PHASES = (
    "starting",
    "configuring",
    "starting engine",
    "starting workers",
    "downloading",
    "loading weights",
    "profiling",
    "compiling",
    "allocating kv cache",
    "capturing graphs",
    "starting server",
    "up",
)
"""In the order in which a launch passes them; some are skipped (no graphs with --enforce-eager)."""
_MILESTONES = re.compile(
    r"(?P<up>Application startup complete\.|Uvicorn running on )"
    r"|(?P<starting_server>Starting vLLM (?:API )?server|Available routes are:|Supported_? ?tasks: )"
    r"|(?P<capturing_graphs>Capturing CUDA graphs?|Capturing cudagraphs|Graph capturing finished)"
    r"|(?P<allocating_kv_cache>Available KV cache memory: |GPU KV cache size: |# GPU blocks: |Maximum concurrency for )"
    r"|(?P<compiling>Dynamo bytecode transform time|for vLLM's torch\.compile|Compiling a graph|torch\.compile t(?:akes|ook)"
    r"|Starting torch\.compile$)"
    r"|(?P<profiling>Loading weights took|Loading model weights took|Model loading took)"
    r"|(?P<loading_weights>[Ll]oading (?:safetensors|shards|pt checkpoint)|Multi-thread loading|Prefetching checkpoint files)"
    r"|(?P<downloading>\.safetensors: {1,8}\d{1,3}%|Time spent downloading weights)"
    r"|(?P<starting_workers>world_size=\d{1,6} rank=|is assigned as DP rank|vLLM is using nccl|Starting to load model"
    r"|Loading model from scratch)"
    r"|(?P<starting_engine>Initializing an? (?:V\d )?LLM engine \(v|Connecting to existing Ray cluster|Started a local Ray)"
    r"|(?P<configuring>vLLM (?:API )?server version |non-default args: |args: Namespace\(|Resolved architecture: "
    r"|Using max model len |^\W{5,80}version \d{1,4}\.\d{1,4}\S{0,80}$)"
)
_HINTS = (
    " startup complete", "Uvicorn running", "Starting vLLM", "Available routes", "upported", "Capturing", "capturing",
    "KV cache memory: ", "KV cache size: ", "GPU blocks", "concurrency", "Dynamo", "torch.compile", "Compiling", "oading ", "Prefetching",
    ".safetensors: ", "Time spent", "world_size=", "DP rank", "using nccl", "Starting to load", "LLM engine", "Ray",
    " version ", "non-default args", "args: Namespace", "Resolved arch", "max model len",
)  # fmt: skip
"""Looking for them is ten times as fast as the expression."""

START = Start(
    phases=_PHASES,
    milestones=_MILESTONES,
    hints=_HINTS,
    counted=frozenset(("loading weights", "downloading", "capturing graphs")),
    begins=re.compile(
        r"vLLM (?:API )?server version |non-default args: |args: Namespace\(|^\W{5,80}version \d{1,4}\.\d{1,4}\S{0,80}$"
    ),
    begin_hints=(" version ", "args: "),
    # the files of vLLM (0.6 to 0.33) that say with which version and arguments a server starts
    starters=re.compile(
        r"(?:^|[./])(?:utils|api_utils|api_server|arg_utils|launcher|serve|startup)(?:\.py)?(?::\d+)?$"
    ),
    stopping=re.compile(
        r"\[shutdown\] (?:EngineCore: trigger received|API server: shutdown triggered)|^INFO: +Shutting down$"
    ),
    stop_hint="hut",
    leaving=re.compile(
        r"^\[shutdown\] |EngineCore exiting|^(?:INFO: +)?(?:Shutting down|Application shutdown complete\.?|Finished server process|Shutting down FastAPI)"
        r"|[Pp]arent process (?:exited|died)|Shutting down (?:EngineCore|engine|executor|worker)"
    ),
    portrait=portrait.of_a_milestone,
    commanded=portrait.commanded,
    detail=portrait.of_a_detail,
    detail_hints=portrait.DETAIL_HINTS,
    details=portrait.DETAILS,
    commands=portrait.COMMANDS,
    # of one rank alone there is nobody to be met; NCCL, which takes its time, begins once all are there
    meeting=re.compile(
        r"world_size=(?!1 )\d{1,6} rank=.{0,80}distributed_init_method=tcp://(?P<place>[^\s,]{1,200})"
        r"|(?P<met>rank \d{1,6} in world size \d{1,6} is assigned as DP rank|vLLM is using nccl)"
    ),
    shares=("tensor_parallel_size", "pipeline_parallel_size"),
    shown="kv_cache_dtype",
    silence=MappingProxyType({"compiling": 1800.0, "loading weights": 900.0, "downloading": 900.0}),
)
