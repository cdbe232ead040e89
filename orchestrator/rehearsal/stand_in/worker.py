"""What does one rank do between its start and its end?"""

from __future__ import annotations

import contextlib
import mmap
import os
import signal
import time
from pathlib import Path

from . import frames
from .peers import FOREVER, PeerError, Peers
from .printing import PACE, PrintedFrame, emit, pause, say, traceback
from .settings import UTILISATION, WEIGHTS_GIB, StandInSettings

REFUSAL = (
    "ValueError: No valid attention backend found for cuda with AttentionSelectorConfig(head_size=576, "
    "dtype=torch.bfloat16, kv_cache_dtype={dtype}, block_size=None, use_mla=True, has_sink=False, use_sparse=False, "
    "use_mm_prefix=False, attn_type=AttentionType.DECODER). Reasons: {{FLASH_ATTN_MLA: [kv_cache_dtype not "
    "supported, compute capability not supported, FlashAttention MLA not supported on this device], FLASHMLA: "
    "[compute capability not supported, FlashMLA Dense is only supported on Hopper devices.], FLASHINFER_MLA: "
    "[compute capability not supported], TRITON_MLA: [kv_cache_dtype not supported], FLASHMLA_SPARSE: "
    "[kv_cache_dtype not supported, non-sparse not supported, compute capability not supported]}}."
)
FREE_MEMORY = (
    "ValueError: Free memory on device cuda:{rank} (11.9/94.97 GiB) on startup is less than desired GPU memory "
    "utilization (0.9, 85.47 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes."
)
ECC = "torch.AcceleratorError: CUDA error: uncorrectable ECC error encountered"
NCCL_ERROR = "RuntimeError: NCCL error: unhandled system error (run with NCCL_DEBUG=INFO for details)"
SYMM_MEM = "SymmMemCommunicator: Device capability 12.0 not supported, communicator is not available."
ALL_REDUCE = (
    "Custom allreduce is disabled because it's not supported on more than two PCIe-only GPUs. To silence this warning, "
    "specify disable_custom_all_reduce=True explicitly."
)
ORPHANS = 2
"""So many ranks of a failed start live on, caught in a call that TERM does not end."""


def rename(name: str) -> None:
    """The title that vLLM's processes give themselves; the kernel keeps 15 bytes of it."""
    Path("/proc/self/comm").write_text(name[:15])


def shared_memory(name: str, size: int = 1 << 20) -> mmap.mmap:
    """A file in /dev/shm, mapped, under one of vLLM's names; whoever ends unasked leaves it behind.

    It holds the home folder of its maker, so that one can tell whose it was.
    """
    descriptor = os.open(f"/dev/shm/{name}{os.urandom(4).hex()}", os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    os.write(descriptor, str(Path.home()).encode())
    os.ftruncate(descriptor, size)
    try:
        return mmap.mmap(descriptor, size)
    finally:
        os.close(descriptor)


class Worker:
    """A rank: it takes each step when a byte comes over `go`, and answers on `report`: k, or e for a failure."""

    def __init__(self, settings: StandInSettings, rank: int, go: int, report: int) -> None:
        self._settings = settings
        self._rank = rank
        self._go = go
        self._report = report
        self._local = rank - settings.own.start
        self._card = settings.card(rank)
        self._name = settings.title(rank)
        self._peers = Peers(settings)
        self._held: list[mmap.mmap] = []

    def run(self) -> None:
        """Come up and stay; never returns."""
        rename(f"VLLM::{self._name}" if self._settings.nodes == 1 else "VLLM::Worker")
        self._enter()
        for step in (self._connect, self._choose_backend, self._load, self._capture):
            if not os.read(self._go, 1):  # EngineCore is gone; a rank does not notice that
                break
            step()
            os.write(self._report, b"k")
        if self._local == 0 and self._settings.nodes > 1:
            self._compute()
        time.sleep(FOREVER)

    def _compute(self) -> None:
        """Answer requests together with the other hosts; returns where nobody asks any more, and nobody tells."""
        if self._settings.node:
            self._peers.follow()
        while os.read(self._go, 1):
            try:
                self._peers.together()
            except PeerError as error:
                hit = f"WorkerProc hit an exception.\n{traceback(frames.COLLECTIVE, str(error))}"
                say(self._name, "ERROR", "multiproc_executor.py:868", hit)
                os.write(self._report, f"e{str(error).partition(': ')[2]}".encode())
            else:
                os.write(self._report, b"k")

    def _enter(self) -> None:
        settings, rank = self._settings, self._rank
        at = f"tcp://127.0.0.1:{50000 + os.getppid() % 10000}"
        if settings.nodes > 1:
            at = f"tcp://{settings.head}:{settings.meeting_port}"
        world = f"world_size={settings.ranks} rank={rank} local_rank={self._local} distributed_init_method={at} backend=nccl"
        say("Worker", "INFO", "parallel_state.py:1192", world)
        self._held.append(shared_memory("psm_"))
        self._hold_card(1.2)

    def _connect(self) -> None:
        settings, rank = self._settings, self._rank
        if self._local == 0:
            self._meet()
            say("Worker", "INFO", "pynccl.py:111", "vLLM is using nccl==2.27.5")
        if settings.fault == "hang":
            time.sleep(FOREVER)
        rename(f"VLLM::{self._name}")
        pause(1.0)
        say("Worker", "WARNING", "symm_mem.py:67", SYMM_MEM)
        if settings.ranks > 2:
            say("Worker", "WARNING", "custom_all_reduce.py:78", ALL_REDUCE)
        stage, part = divmod(rank, settings.tensor)
        place = f"rank {rank} in world size {settings.ranks} is assigned as DP rank 0, PP rank {stage}, PCP rank 0, "
        say("Worker", "INFO", "parallel_state.py:1445", f"{place}TP rank {part}, EP rank {part}")
        if self._local == 0:
            pause(0.2)
            say(self._name, "INFO", "gpu_model_runner.py:4124", f"Starting to load model {settings.model}...")
        pause(0.4)

    def _meet(self) -> None:
        try:
            self._peers.meet()
        except PeerError as error:
            self._name = "Worker"
            self._fail(frames.MEETING, str(error))

    def _choose_backend(self) -> None:
        self._fail_early()
        if self._settings.refused:
            dtype = self._settings.kv_dtype
            text = REFUSAL.format(dtype=dtype if dtype.startswith("fp8") else "fp8_e4m3")
            self._fail(frames.SELECTOR, text)
        if self._settings.mla:
            backend = "Using TRITON_MLA attention backend out of potential backends: ['TRITON_MLA']."
            say(self._name, "INFO", "cuda.py:367", backend)

    def _fail_early(self) -> None:
        fault, rank = self._settings.fault, self._rank
        if fault in ("unknown", "rank-dies"):
            self._fail(frames.NOBODY_KNOWS, f"LedgerTornError: page {rank} of the ledger is torn")
        if fault == "broken-card" and self._card == 0:
            self._fail(frames.DEVICE, ECC)
        if fault == "gpu-taken":
            self._let_the_other_in()
            self._fail(frames.FREE_MEMORY, FREE_MEMORY.format(rank=rank))
        if fault == "shm-full":
            head, pid = os.uname().nodename, os.getpid()
            segment = f"nccl-shm-recv-{os.urandom(6).hex()}-0-{rank}-{(rank + 1) % self._settings.ranks}"
            warnings = (
                "include/shm.h:28 NCCL WARN Call to posix_fallocate failed : No space left on device",
                f"include/shm.h:48 NCCL WARN Error while creating shared memory segment {segment} (size 9637888)",
            )
            emit("".join(f"{head}:{pid}:{pid} [{rank}] {text}\n" for text in warnings))
            self._fail(frames.NCCL, NCCL_ERROR)

    def _let_the_other_in(self) -> None:
        """From now on somebody else's process holds this rank's card."""
        folder = os.environ.get("STAND_IN_CARDS")
        if folder:
            with contextlib.suppress(FileNotFoundError):
                (Path(folder) / f"other-{self._card}").rename(Path(folder) / f"{self._card}-other")

    def _fail(self, way: list[PrintedFrame], error: str) -> None:
        """Print the traceback and end, or hang in the ending."""
        where = "multiproc_executor.py:783"
        say(self._name, "ERROR", where, f"WorkerProc failed to start.\n{traceback(way, error)}")
        os.write(self._report, b"e")
        on_this_host = len(self._settings.own)
        if on_this_host > 2 * ORPHANS and self._local >= on_this_host - ORPHANS:
            if PACE > 0.1:  # whoever wants no pauses wants none while it is killed either
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
            time.sleep(FOREVER)
        os._exit(1)

    def _load(self) -> None:
        settings = self._settings
        began = time.monotonic()
        if self._local == 0:
            self._read_shards()
            if settings.fault == "host-lost":
                time.sleep(FOREVER)
            seconds = time.monotonic() - began
            say(self._name, "INFO", "default_loader.py:293", f"Loading weights took {seconds:.2f} seconds")
        self._hold_card(WEIGHTS_GIB + 1.2)
        took = f"Model loading took {WEIGHTS_GIB} GiB memory and {time.monotonic() - began:.6f} seconds"
        say(self._name, "INFO", "gpu_model_runner.py:4221", took)
        if self._rank == 0:
            self._compile()
            free = f"Available KV cache memory: {settings.kv_gib:.2f} GiB"
            say(self._name, "INFO", "gpu_worker.py:373", free)

    def _read_shards(self) -> None:
        total = self._settings.shards
        began = time.monotonic()
        for done in range(total + 1):
            seconds = time.monotonic() - began
            each = seconds / done if done else 0.0
            left = _clock(each * (total - done)) if done else "?"
            rate = f" {1 / each:.2f}it/s" if each else " ?it/s"
            bar = (
                f"Loading safetensors checkpoint shards: {100 * done // total:3}% Completed | {done}/{total} "
            )
            emit(f"{bar}[{_clock(seconds)}<{left}, {rate}]\n".replace(",  ?", ", ?"))
            if self._settings.fault == "oom-killed" and done > total // 2:
                self._be_killed()
            if done < total:
                pause(4.0 / total)
        emit("\n")

    def _be_killed(self) -> None:
        """End as the kernel ends a process when memory runs out: by KILL, with a line in its own log."""
        folder = os.environ.get("STAND_IN_CARDS")
        if folder:
            seconds = float(Path("/proc/uptime").read_text().split()[0])
            comm = f"VLLM::{self._name}"[:15]
            sizes = "total-vm:182034432kB, anon-rss:97517568kB, file-rss:1024kB, shmem-rss:0kB"
            with (Path(folder) / "kernel.log").open("a") as kernel:
                kernel.write(
                    f"[{seconds:12.6f}] Out of memory: Killed process {os.getpid()} ({comm}) {sizes}\n"
                )
        os.kill(os.getpid(), signal.SIGKILL)

    def _compile(self) -> None:
        began = time.monotonic()
        cache = Path.home() / ".cache/vllm/torch_compile_cache" / "c06aa297e3/rank_0_0/backbone"
        pause(0.4)
        say(self._name, "INFO", "backends.py:916", f"Using cache directory: {cache} for vLLM's torch.compile")
        pause(0.8)
        bytecode = time.monotonic() - began
        say(self._name, "INFO", "backends.py:976", f"Dynamo bytecode transform time: {bytecode:.2f} s")
        pause(1.2)
        seconds = time.monotonic() - began
        graph = f"Compiling a graph for compile range (1, 8192) takes {seconds - bytecode:.2f} s"
        say(self._name, "INFO", "backends.py:368", graph)
        say(self._name, "INFO", "monitor.py:41", f"torch.compile takes {seconds:.2f} s in total")
        pause(0.4)

    def _capture(self) -> None:
        """Capture CUDA graphs, with a bar that is redrawn by carriage returns."""
        if self._local == 0:
            self._wait_for_all()
        began = time.monotonic()
        self._hold_card(94.97 * UTILISATION)
        if self._rank:
            return
        for kind in ("mixed prefill-decode, PIECEWISE", "decode, FULL"):
            for done in range(12):
                bar = "█" * (done * 10 // 11)
                end = "\n" if done == 11 else "\r"
                emit(
                    f"Capturing CUDA graphs ({kind}): {100 * done // 11:3}%|{bar:<10}| {done}/11 [00:00<00:00, 9.62it/s]{end}"
                )
                pause(0.07)
        took = f"Graph capturing finished in {time.monotonic() - began:.0f} secs, took 1.14 GiB"
        say(self._name, "INFO", "gpu_model_runner.py:5246", took)

    def _wait_for_all(self) -> None:
        """Until the weights are there on every host."""
        try:
            self._peers.together()
        except PeerError as error:
            self._fail(frames.ALL_LOADED, str(error))

    def _hold_card(self, gib: float) -> None:
        """Note on the stand-in card of this rank who holds how much of it."""
        folder = os.environ.get("STAND_IN_CARDS")
        if folder:
            note = Path(folder) / f"{self._card}.part"
            note.write_text(f"{os.getpid()} {round(gib * 1024)} VLLM::{self._name}\n")
            note.replace(note.with_suffix(""))


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60:02}:{int(seconds) % 60:02}"
