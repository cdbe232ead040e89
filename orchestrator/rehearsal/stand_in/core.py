"""What does the engine's own process do: start the ranks, wait for them, size the KV cache?"""

from __future__ import annotations

import os
import select
import signal
import socket
import time
from collections.abc import Sequence
from typing import NoReturn

from . import VERSION, frames
from .peers import FOREVER
from .printing import PrintedFrame, pause, raw, say, traceback
from .ranks import LOOK_SECONDS, LOST, LocalRanks
from .settings import StandInSettings
from .worker import rename, shared_memory

NAME = "EngineCore_DP0"
WORKERS_FAILED = (
    "Exception: WorkerProc initialization failed due to an exception in a background process. See stack trace for "
    "root cause."
)
NO_ROOM = (
    "ValueError: To serve at least one request with the models's max seq len ({context}), ({needed:.2f} GiB KV cache is "
    "needed, which is larger than the available KV cache memory ({free:.2f} GiB). Based on the available memory, the "
    "estimated maximum model length is {tokens}. Try increasing `gpu_memory_utilization` or decreasing "
    "`max_model_len` when initializing the engine. See "
    "https://docs.vllm.ai/en/latest/configuration/conserving_memory/ for more details."
)
ILLEGAL = "CUDA error: an illegal memory access was encountered"


class Core:
    """EngineCore; `server` is its end of the line to the API server: a byte when all is up, and one for each request."""

    def __init__(self, settings: StandInSettings, server: socket.socket) -> None:
        self._settings = settings
        self._server = server
        self._ranks = LocalRanks(settings, inherited=server)

    def run(self) -> None:
        """Bring everything up and answer requests; never returns."""
        began = time.monotonic()
        rename("VLLM::EngineCore")
        signal.signal(signal.SIGTERM, self._end)
        self._held = [shared_memory("psm_", 16 << 20), shared_memory("sem.mp-", 32)]
        self._introduce()
        if not self._ranks.come_up():
            self._fail(frames.WORKERS, WORKERS_FAILED)
        self._size_cache()
        if not self._ranks.all_step():
            self._fail(frames.WORKERS, WORKERS_FAILED)
        seconds = time.monotonic() - began
        took = f"init engine (profile, create kv cache, warmup model) took {seconds:.2f} seconds"
        say(NAME, "INFO", "core.py:278", took)
        self._server.sendall(b"k")
        self._serve()

    def _size_cache(self) -> None:
        settings = self._settings
        if settings.kv_needed_gib > settings.kv_gib:
            text = NO_ROOM.format(
                context=settings.context,
                needed=settings.kv_needed_gib,
                free=settings.kv_gib,
                tokens=settings.kv_tokens,
            )
            self._fail(frames.KV_CACHE, text)
        tokens, context = settings.kv_tokens, settings.context
        say(NAME, "INFO", "kv_cache_utils.py:1307", f"GPU KV cache size: {tokens:,} tokens")
        concurrency = f"Maximum concurrency for {context:,} tokens per request: {tokens / context:.2f}x"
        say(NAME, "INFO", "kv_cache_utils.py:1312", concurrency)

    def _serve(self) -> None:
        while self._asked():
            request = self._server.recv(1)
            if not request:
                break
            if self._settings.fault == "first-request":
                self._die_of_a_request()
            pause(0.2)
            if self._settings.nodes > 1 and (failed := self._ranks.compute()):
                self._die_by_a_worker(failed)
            self._server.sendall(request)
        time.sleep(FOREVER)  # the API server was killed; EngineCore does not notice that

    def _asked(self) -> bool:
        """Wait for a word of the API server; dies where a rank does meanwhile."""
        while not select.select([self._server], [], [], LOOK_SECONDS)[0]:
            if (dead := self._ranks.killed()) is not None:
                died = f"Worker proc VllmWorker-{dead[0]} died unexpectedly, shutting down executor."
                say(NAME, "ERROR", "multiproc_executor.py:254", died)
                self._die(f"RuntimeError: {LOST}")
        return True

    def _die_of_a_request(self) -> None:
        text = f"torch.AcceleratorError: {ILLEGAL}"
        for rank, pid in sorted(self._ranks.pids.items()):
            hit = f"WorkerProc hit an exception.\n{traceback(frames.REQUEST, text)}"
            say(self._settings.title(rank), "ERROR", "multiproc_executor.py:868", hit, pid)
        self._die_by_a_worker(ILLEGAL)

    def _die_by_a_worker(self, of: str) -> NoReturn:
        error = f"RuntimeError: Worker failed with error '{of}', please check the stack trace above for the root cause"
        self._die(error)

    def _die(self, error: str) -> NoReturn:
        fatal = f"EngineCore encountered a fatal error.\n{traceback(frames.BUSY, error)}"
        say(NAME, "ERROR", "core.py:1015", fatal)
        self._end()

    def _fail(self, way: Sequence[PrintedFrame], error: str) -> None:
        """End as a failed start does: what it holds in /dev/shm stays, and so does a rank that hangs."""
        text = traceback(way, error)
        say(NAME, "ERROR", "core.py:1006", f"EngineCore failed to start.\n{text}")
        raw(NAME, f"Process {NAME}:\n{text}")
        if error != WORKERS_FAILED:
            self._ranks.kill()
        os._exit(1)

    def _end(self, *_: object) -> NoReturn:
        self._ranks.kill()
        os._exit(1)

    def _introduce(self) -> None:
        settings = self._settings
        shown = {
            "model": f"'{settings.model}'",
            "speculative_config": None,
            "tokenizer": f"'{settings.model}'",
            "skip_tokenizer_init": False,
            "tokenizer_mode": "auto",
            "revision": None,
            "trust_remote_code": "trust_remote_code" in settings.given,
            "dtype": "torch.bfloat16",
            "max_seq_len": settings.context,
            "load_format": "auto",
            "tensor_parallel_size": settings.tensor,
            "pipeline_parallel_size": settings.pipeline,
            "data_parallel_size": 1,
            "disable_custom_all_reduce": False,
            "quantization": "modelopt_fp4",
            "enforce_eager": "enforce_eager" in settings.given,
            "kv_cache_dtype": settings.kv_dtype,
            "device_config": "cuda",
            "seed": 0,
            "served_model_name": settings.served,
            "enable_prefix_caching": True,
            "enable_chunked_prefill": True,
        }
        text = ", ".join(f"{name}={value}" for name, value in shown.items())
        say(NAME, "INFO", "core.py:97", f"Initializing a V1 LLM engine (v{VERSION}) with config: {text}")
        say(
            NAME, "WARNING", "multiproc_executor.py:921",
            "Reducing Torch parallelism from 32 threads to 1 to avoid unnecessary CPU contention. Set OMP_NUM_THREADS in "
            "the external environment to tune this value as needed.",
        )  # fmt: skip
        if settings.nodes > 1:
            address = os.environ.get("VLLM_HOST_IP", "0.0.0.0")
            say(
                NAME, "INFO", "multiproc_executor.py:139",
                f"DP group leader: node_rank=0, node_rank_within_dp=0, master_addr={settings.head}, mq_connect_ip={address} "
                f"(local), world_size={settings.ranks}, local_world_size={len(settings.own)}",
            )  # fmt: skip
        pause(0.4)
