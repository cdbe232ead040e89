"""What does vLLM (0.6 to 0.33) say when something goes wrong?"""

from __future__ import annotations

import re

from orchestrator.engines.log_grammar import Failures
from orchestrator.engines.vllm.log.doings import DOINGS

FAILURES = Failures(
    wrappers=re.compile(
        r"Engine (?:core|process) (?:initialization failed|failed to start)|WorkerProc initialization failed"
        r"|Worker failed with error|EngineCore encountered an issue|EngineDeadError|See stack trace|Executor failed\."
        r"|Error executing method|ray::\w|MQEngineDeadError|Failed core proc"
    ),
    titles=re.compile(
        r"^(?:WorkerProc (?:failed|hit)|EngineCore (?:failed|encountered|hit)|AsyncLLM output_handler|Error executing method"
        r"|Exception in ASGI)"
    ),
    fatal_titles=re.compile(
        r"^(?:WorkerProc (?:failed|hit)|EngineCore (?:failed|encountered|hit)|AsyncLLM output_handler failed)"
    ),
    asides=re.compile(r"^(?:Loading safetensors|Capturing CUDA|\[(?:shutdown|supervisor)\])"),
    programs=("vllm", "api_server"),
    crashes=re.compile(r"No module named '?vllm'?$"),
    deaths=re.compile(
        r"^(?:Worker proc|RayWorkerProc) .*died unexpectedly|^A worker died or was killed while executing a task"
    ),
    crash_hints=("No module", "died"),
    quotation=re.compile(
        r"Worker failed with error '(?P<text>.{0,4000})', please check the stack trace", re.DOTALL
    ),
    doings=DOINGS,
)
