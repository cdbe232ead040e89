"""Which processes of vLLM (0.5 to 0.33) speak in its log, and in which of its files does it say that it has died?"""

from __future__ import annotations

import re

from orchestrator.engines.log_grammar import ProcessNames

PROCESSES = ProcessNames(
    front=("apiserver",),
    children=("Engine", "Worker", "Vllm", "Ray"),
    ranks=("Worker", "Vllm", "RayWorker"),
    speaking=("EngineCore", "Worker", "Vllm", "VLLM", "Ray", "MainProcess"),
    files=re.compile(
        r"(?:^|[./])(?:core|core_client|async_llm|async_llm_engine|llm_engine|engine|client|multiproc_\w+|ray_\w*executor\w*"
        r"|\w+_executor|\w+_connector|worker\w*|\w+_worker|gpu_model_runner|shm_broadcast|coordinator)(?:\.py)?(?::\d+)?$"
    ),
    # Who started several API servers or data-parallel ranks. A server that is alone is a MainProcess too where records are
    # JSON, so the file is asked as well: none of these words what a client sent.
    keepers=re.compile(r"^(?:MainProcess (?:utils\.py:\d+|vllm\.v1\.utils)|DPSupervisor \S+)$"),
    named=re.compile(rb"^\((?P<name>\S+) pid=(?P<pid>\d+)\)", re.MULTILINE),
)
