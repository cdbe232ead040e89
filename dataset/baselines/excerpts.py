"""What does a person get with grep?"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dataset.baselines.method import Example, Method, Reader

_ERROR = re.compile(r"error", re.IGNORECASE)
_EXCEPTION = re.compile(r"(?:^|[\s\]|)])((?:\w+\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Exit))\b: *\S")
_WRAPPER = re.compile(
    r"Engine core initialization failed|Engine process failed|WorkerProc|EngineCore failed|EngineDeadError|died unexpectedly"
    r"|Worker failed with error|ActorDiedError|RayTaskError|Scheduler hit an exception|child process",
    re.IGNORECASE,
)
_SERVES = re.compile(
    r"Application startup complete|Uvicorn running on|The server is fired up and ready to roll"
)
_FAILED = re.compile(
    r"Traceback \(most recent call last\)|\bERROR\b|\bFATAL\b|[Ss]egmentation fault|\bKilled\b|\berror:|\w(?:Error|Exception): "
)
PATIENCE_S = 600
_CATEGORIES = {
    "attention_backend": r"attention backend|FlashAttention|FlashMLA",
    "kv_cache_memory": r"KV cache|max_model_len|cache blocks",
    "gpu_memory": r"out of memory|OutOfMemory|Free memory on device|gpu_memory_utilization",
    "nccl": r"NCCL",
    "shm": r"/dev/shm|shared memory",
    "download": r"huggingface\.co|hf\.co|LocalEntryNotFound|Connection|Max retries",
    "checkpoint_corrupt": r"safetensors|Safetensor|header|shard",
    "quantization": r"quanti[sz]|fp8|nvfp4|awq|gptq",
    "kernel_jit": r"nvcc|ninja|triton|inductor|compil",
    "moe": r"\bmoe\b|expert",
    "parallelism": r"divisible|tensor.parallel|pipeline.parallel|world_size",
    "ray": r"\bray\b",
    "driver": r"driver|CUDA|libcuda|NVML",
    "port": r"address already in use|EADDRINUSE",
    "permissions": r"[Pp]ermission|denied|401|403",
    "cli_flag": r"unrecognized argument|argument --|invalid choice|usage:",
    "transformers_version": r"transformers",
    "tokenizer_config": r"tokenizer|chat template",
}
"""Asked in this order, each of what an exception says."""


def _answer(line: str | None) -> Mapping[str, Any]:
    if line is None:
        return {"verdict": "healthy"}
    return {"verdict": "fault", "root_cause": {"text": line}}


def _picks(pick: Callable[[list[str]], str | None]) -> Callable[[Sequence[Example]], Reader]:
    return lambda _: lambda text, _: _answer(pick(text.split("\n")))


def last_error(lines: list[str]) -> str | None:
    return next((line for line in reversed(lines) if _ERROR.search(line)), None)


def first_exception(lines: list[str]) -> str | None:
    return next((line for line in lines if _EXCEPTION.search(line)), None)


def last_exception(lines: list[str]) -> str | None:
    return first_exception(lines[::-1])


def last_but_wrappers(lines: list[str]) -> str | None:
    return last_exception([line for line in lines if not _WRAPPER.search(line)])


def by_keywords(text: str, context: Mapping[str, Any]) -> Mapping[str, Any]:
    serves = max((match.end() for match in _SERVES.finditer(text)), default=-1)
    if _FAILED.search(text, max(serves, 0)):
        lines = text[max(serves, 0) :].split("\n")
        cause = last_but_wrappers(lines) or last_error(lines) or ""
        words = (name for name, pattern in _CATEGORIES.items() if re.search(pattern, cause, re.IGNORECASE))
        return {**_answer(cause), "finding": {"category": next(words, "other")}}
    if serves >= 0:
        return {"verdict": "healthy"}
    return {"verdict": "hang" if (context.get("idle_seconds") or 0) >= PATIENCE_S else "starting"}


_SAME = {"verdict": "fault", "finding": {"category": "other"}}
_BOTH = ("verdict", "root_cause")
METHODS = [
    Method("always the same", lambda _: lambda *_: _SAME, ("verdict", "category")),
    Method("`grep -i error \\| tail -1`", _picks(last_error), _BOTH),
    Method("first exception", _picks(first_exception), _BOTH),
    Method("last exception", _picks(last_exception), _BOTH),
    Method("last exception but known wrappers", _picks(last_but_wrappers), _BOTH),
    Method("keywords", lambda _: by_keywords, (*_BOTH, "category")),
]
