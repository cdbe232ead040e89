"""What does the engine's own process do: start the ranks, wait for them, size the KV cache?"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import time
from collections.abc import Iterable, Sequence

from . import VERSION, frames
from .printing import PrintedFrame, pause, raw, say, traceback
from .settings import StandInSettings
from .worker import FOREVER, Worker, rename, shared_memory

NAME = "EngineCore_DP0"
FIRST = 4
"""The rank that is started first, and that fails first."""
LOOK_SECONDS = 0.05
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
        self._reports, self._report = os.pipe()
        self._go: dict[int, int] = {}
        self._pids: dict[int, int] = {}

    def run(self) -> None:
        """Bring everything up and answer requests; never returns."""
        began = time.monotonic()
        rename("VLLM::EngineCore")
        signal.signal(signal.SIGTERM, self._end)
        self._held = [shared_memory("psm_", 16 << 20), shared_memory("sem.mp-", 32)]
        self._introduce()
        everyone = sorted(range(self._settings.ranks), key=lambda rank: (rank != FIRST, rank * 5 % 8))
        for rank in everyone:
            self._start(rank)
            pause(0.06)
        first, *others = everyone
        if not self._step(everyone):
            self._fail(frames.WORKERS, WORKERS_FAILED)
        chosen = self._step([first])
        if not (self._step(others) and chosen):  # each rank has its say
            self._fail(frames.WORKERS, WORKERS_FAILED)
        if not (self._step([0]) and self._step(range(1, self._settings.ranks))):
            self._fail(frames.WORKERS, WORKERS_FAILED)
        self._size_cache()
        self._step(everyone)
        seconds = time.monotonic() - began
        took = f"init engine (profile, create kv cache, warmup model) took {seconds:.2f} seconds"
        say(NAME, "INFO", "core.py:278", took)
        self._server.sendall(b"k")
        self._serve()

    def _start(self, rank: int) -> None:
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            self._server.close()
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            Worker(self._settings, rank, reading, self._report).run()
        os.close(reading)
        self._go[rank], self._pids[rank] = writing, pid

    def _step(self, ranks: Iterable[int]) -> bool:
        """Let these ranks take their next step; whether all of them came through."""
        waiting = 0
        for rank in ranks:
            os.write(self._go[rank], b"g")
            waiting += 1
        well = True
        while waiting:
            if select.select([self._reports], [], [], LOOK_SECONDS)[0]:
                waiting -= 1
                well = os.read(self._reports, 1) == b"k" and well
            elif any(self._killed(pid) for pid in self._pids.values()):
                return False
        return well

    def _killed(self, pid: int) -> bool:
        ended, status = os.waitpid(pid, os.WNOHANG)
        return bool(ended) and os.WIFSIGNALED(status)

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
        while request := self._server.recv(1):
            if self._settings.fault == "first-request":
                self._die_of_a_request()
            pause(0.2)
            self._server.sendall(request)
        time.sleep(FOREVER)  # the API server was killed; EngineCore does not notice that

    def _die_of_a_request(self) -> None:
        text = f"torch.AcceleratorError: {ILLEGAL}"
        for rank, pid in sorted(self._pids.items()):
            hit = f"WorkerProc hit an exception.\n{traceback(frames.REQUEST, text)}"
            say(f"Worker_TP{rank}", "ERROR", "multiproc_executor.py:868", hit, pid)
        error = f"RuntimeError: Worker failed with error '{ILLEGAL}', please check the stack trace above for the root cause"
        fatal = f"EngineCore encountered a fatal error.\n{traceback(frames.BUSY, error)}"
        say(NAME, "ERROR", "core.py:1015", fatal)
        self._end()

    def _fail(self, way: Sequence[PrintedFrame], error: str) -> None:
        """End as a failed start does: what it holds in /dev/shm stays, and so does a rank that hangs."""
        text = traceback(way, error)
        say(NAME, "ERROR", "core.py:1006", f"EngineCore failed to start.\n{text}")
        raw(NAME, f"Process {NAME}:\n{text}")
        if error != WORKERS_FAILED:
            self._kill_workers()
        os._exit(1)

    def _kill_workers(self) -> None:
        for pid in self._pids.values():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _end(self, *_: object) -> None:
        self._kill_workers()
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
            "tensor_parallel_size": settings.ranks,
            "pipeline_parallel_size": 1,
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
        pause(0.4)
