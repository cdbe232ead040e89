"""How is something cleaned that a launch stumbled over and that is more than its own processes and memory files?"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from orchestrator.on_host import gpu_memory, procs
from orchestrator.on_host.refusal import Refusal
from orchestrator.on_host.state import append, at_work, state_folder

STEADY_SECONDS = 5.0
"""Memory of the GPUs that did not fall for so long will not fall by itself."""
POLL_SECONDS = 0.5
_REMOVED = ".removed-by-deploy"


def main(request: dict[str, Any]) -> dict[str, Any]:
    """Clean what the names say; harmless where there is nothing.

    request: playbook, names ("compile_cache", "stale_lock", "gpu_memory_wait"), folder (the checkpoint's), environment
    (what the engine is started with), seconds (the longest wait). Answers {name: {...}}: compile_cache
    {removed: [path], kept: [{path, reason}]}, stale_lock {removed: [path], kept: [{path, reason}]}, gpu_memory_wait
    {seconds, used_mib, holders: [{pid, user, command}]} or null where nvidia-smi does not answer.
    """
    state = state_folder(request["playbook"])
    done: dict[str, Any] = {}
    with at_work(state):
        for name in request["names"]:
            if name == "compile_cache":
                done[name] = _compile_caches(request["environment"])
            elif name == "stale_lock":
                done[name] = _stale_locks(request["folder"], request["environment"])
            elif name == "gpu_memory_wait":
                done[name] = _wait_for_gpus(request["seconds"])
            else:
                raise Refusal("bad_request", f"cleanup knows no {name!r}")
        append(state, {"action": "clean", "what": done})
    return done


def _compile_caches(environment: dict[str, str]) -> dict[str, Any]:
    """Take away what was compiled for earlier launches; it is compiled again when it is wanted."""
    removed, kept = [], []
    in_use = set(_files_in_use())
    for folder in _caches({**os.environ, **environment}):
        for left in folder.parent.glob(f"{folder.name}{_REMOVED}*"):  # of a cleaning that was ended half way
            shutil.rmtree(left, ignore_errors=True)
        if not folder.is_dir() or folder.is_symlink():
            continue
        real = f"{os.path.realpath(folder)}/"
        if any(path.startswith(real) for path in in_use):
            kept.append({"path": str(folder), "reason": "a running process uses it"})
            continue
        try:
            aside = folder.with_name(f"{folder.name}{_REMOVED}-{os.getpid()}")
            folder.rename(aside)
        except OSError as error:
            kept.append({"path": str(folder), "reason": error.strerror or str(error)})
            continue
        shutil.rmtree(aside, ignore_errors=True)
        removed.append(str(folder))
    return {"removed": removed, "kept": kept}


def _caches(environment: dict[str, str]) -> Iterator[Path]:
    """Where vLLM, Triton, FlashInfer and PyTorch keep what they compiled."""
    home = Path.home()
    cache = Path(environment.get("XDG_CACHE_HOME") or home / ".cache")
    vllm = Path(environment.get("VLLM_CACHE_ROOT") or cache / "vllm")
    yield from (vllm / "torch_compile_cache", vllm / "torch_aot_compile")
    yield Path(environment.get("TRITON_CACHE_DIR") or home / ".triton" / "cache")
    yield Path(environment.get("FLASHINFER_WORKSPACE_BASE") or home) / ".cache" / "flashinfer"
    yield Path(environment.get("TORCHINDUCTOR_CACHE_DIR") or f"/tmp/torchinductor_{procs.user(os.getuid())}")


def _files_in_use() -> Iterator[str]:
    """Paths that the processes which this user may look at have mapped or open."""
    for pid in procs.processes():
        for line in procs.read_bytes(f"/proc/{pid}/maps").splitlines():
            path = line.partition(b"/")[2]
            if path:
                yield "/" + os.fsdecode(path)
        with contextlib.suppress(OSError):
            for number in os.listdir(f"/proc/{pid}/fd"):
                yield procs.read_link(f"/proc/{pid}/fd/{number}")


def _stale_locks(folder: str, environment: dict[str, str]) -> dict[str, Any]:
    """Take away lock files of downloads which nobody holds."""
    removed, kept = [], []
    home = Path({**os.environ, **environment}.get("HF_HOME") or Path.home() / ".cache" / "huggingface")
    places = (Path(os.path.expanduser(folder)) / ".cache" / "huggingface", home / "hub" / ".locks")
    for lock in sorted(path for place in places for path in place.rglob("*.lock")):
        try:
            with open(lock, "rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                lock.unlink()
            removed.append(str(lock))
        except BlockingIOError:
            kept.append({"path": str(lock), "reason": "a running process holds it"})
        except OSError as error:
            kept.append({"path": str(lock), "reason": error.strerror or str(error)})
    return {"removed": removed, "kept": kept}


def _wait_for_gpus(seconds: float) -> dict[str, Any] | None:
    """Wait as long as memory of the GPUs is being given back."""
    began = fell = time.monotonic()
    lowest = gpu_memory.used()
    now = lowest
    while now is not None and lowest is not None:
        waited = time.monotonic() - began
        if time.monotonic() - fell >= STEADY_SECONDS or waited >= seconds:
            return {"seconds": round(waited, 1), "used_mib": now, "holders": gpu_memory.holders()}
        time.sleep(POLL_SECONDS)
        now = gpu_memory.used()
        if now is not None and sum(now.values()) < sum(lowest.values()):
            lowest, fell = now, time.monotonic()
    return None
