"""What does vLLM (0.6 to 0.33) say when something goes wrong?"""

from __future__ import annotations

import re

from orchestrator.engines.log_grammar import Failures
from orchestrator.engines.vllm.log.doings import DOINGS

FAILURES = Failures(
    wrappers=re.compile(
        r"Engine (?:core|process) (?:initialization failed(?!.{0,80}\{[^}]{0,400}: -\d)|failed to start)|WorkerProc initialization failed"
        r"|Worker failed with error|EngineCore encountered an issue|EngineDeadError|See stack trace|Executor failed\."
        r"|Error executing method|ray::\w|MQEngineDeadError|Failed core proc(?!\(s\): \{[^}]{0,400}: -\d)|Frontend process failed during|One or more workers failed$"
        r"|Worker failed with KV connector output|Microbatch \d{1,6} of \d{1,6} failed$|Input socket thread died during startup"
        r"|Engine core process \S{1,80} died unexpectedly|Ray has ended on (?:this host|the head) \(exit|Process \S{1,80} \(PID: \d{1,10}\) died with exit code"
    ),
    titles=re.compile(
        r"^(?:WorkerProc (?:failed|hit)|EngineCore (?:failed|encountered|hit)|AsyncLLM output_handler|Error executing method"
        r"|Exception in ASGI|Exception occurred while running API servers)"
    ),
    fatal_titles=re.compile(
        r"^(?:WorkerProc (?:failed|hit)|EngineCore (?:failed|encountered|hit)|AsyncLLM output_handler failed)"
    ),
    asides=re.compile(r"^(?:Loading safetensors|Capturing CUDA|\[(?:shutdown|supervisor)\])"),
    programs=("vllm", "api_server"),
    crashes=re.compile(
        r"No module named '?vllm'?$|^\S{0,80}sh: (?:line )?\d{1,6}: (?:exec: )?(?:\S{1,200}/)?vllm: (?:not found|Permission denied)$"
    ),
    deaths=re.compile(
        # by which signal: what ended it is no failure of the engine core's own
        r"^(?:RuntimeError: )?Engine core initialization failed.{0,80}\{[^}]{0,400}: -\d"
        r"|^(?:Worker proc|RayWorkerProc|Engine core proc) .*died unexpectedly|^A worker died or was killed while executing a task"
        r"|^\[shutdown\] MPClient: engine core exited unexpectedly|^DPSupervisor found [1-9]\d{0,5} exited DP Servers"
        r"|^Weight cache daemon rank\(s\) exited during startup"
    ),
    crash_hints=("No module", "died", "exited", "vllm: ", "Failed core"),
    quotation=re.compile(
        r"Worker failed with error '(?P<text>.{0,4000})', please check the stack trace", re.DOTALL
    ),
    unanswered=re.compile(r"RPC call to \w{1,80} timed out|No available shared memory broadcast block found"),
    unborn=re.compile(
        r"^(?:\w{1,40}: )?(?:WorkerProc initialization failed|Engine (?:core|process) (?:initialization failed|failed to start))"
    ),
    doings=DOINGS,
)
