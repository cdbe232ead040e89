"""A stand-in for vLLM 0.16.0's API server: it reads a checkpoint's config as that release does.

Texts and order are those of the release. One process a rank, each with a mapped file in /dev/shm; they carry the
names that vLLM's processes give themselves. STAND_IN_FAULT chooses another ending: "unknown" (an
exception that nobody knows), "stubborn" (the FP8 refusal whatever the config says), "hang" (silence),
"first-request" (healthy until the first completion).
"""

import argparse
import json
import mmap
import os
import signal
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

REFUSAL = (
    "No valid attention backend found for cuda with AttentionSelectorConfig(head_size=576, dtype=torch.bfloat16, "
    "kv_cache_dtype={dtype}, block_size=None, use_mla=True, has_sink=False, use_sparse=False, use_mm_prefix=False, "
    "attn_type=AttentionType.DECODER). Reasons: {{FLASH_ATTN_MLA: [kv_cache_dtype not supported, compute capability "
    "not supported, FlashAttention MLA not supported on this device], FLASHMLA: [compute capability not supported, "
    "FlashMLA Dense is only supported on Hopper devices.], FLASHINFER_MLA: [compute capability not supported], "
    "TRITON_MLA: [kv_cache_dtype not supported], FLASHMLA_SPARSE: [kv_cache_dtype not supported, non-sparse not "
    "supported, compute capability not supported]}}."
)


def say(process: str, level: str, where: str, text: str) -> None:
    stamp = time.strftime("%m-%d %H:%M:%S")
    for line in text.split("\n"):
        print(f"({process} pid={os.getpid()}) {level} {stamp} [{where}] {line}", flush=True)


def failure(process: str, where: str, title: str, frame: str, text: str) -> None:
    traceback = f'Traceback (most recent call last):\n  File "{frame}", line 1, in run\n    raise'
    say(process, "ERROR", where, f"{title}\n{traceback}\n{text}")


def kv_dtype(model: Path, flag: str) -> str:
    if flag != "auto":
        return flag
    config = json.loads((model / "config.json").read_text())
    block = config.get("quantization_config")
    sidecar = model / "hf_quant_config.json"
    if block is None and sidecar.exists():
        block = json.loads(sidecar.read_text())
    block = block or {}
    legacy = block.get("quantization") or {}
    if legacy.get("quant_algo") == "NVFP4" and "kv_cache_quant_algo" not in legacy:
        raise ValueError(
            "NVFP4 quantization requires the following fields in hf_quant_config.json: ['kv_cache_quant_algo']"
        )
    declared = (
        legacy.get("kv_cache_scheme")
        or block.get("kv_cache_scheme")
        or legacy.get("kv_cache_quant_algo")
        or block.get("kv_cache_quant_algo")
    )
    return "fp8_e4m3" if declared else "auto"


def rename(name: str) -> None:
    Path("/proc/self/comm").write_text(name[:15])


def hold_shared_memory() -> mmap.mmap:
    descriptor = os.open(f"/dev/shm/psm_{os.urandom(4).hex()}", os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    os.ftruncate(descriptor, 65536)
    try:
        return mmap.mmap(descriptor, 65536)
    finally:
        os.close(descriptor)


def worker(rank: int, dtype: str, fault: str, held: list[mmap.mmap]) -> None:
    name = f"Worker_TP{rank}"
    rename(f"VLLM::{name}")
    held.append(hold_shared_memory())
    say(
        "Worker", "INFO", "parallel_state.py:1192", f"world_size=8 rank={rank} local_rank={rank} backend=nccl"
    )
    if fault == "unknown":
        text = f"LedgerTornError: page {rank} of the ledger is torn"
        failure(
            name, "multiproc_executor.py:783", "WorkerProc failed to start.", "/x/vllm/v1/ledger.py", text
        )
        os._exit(1)
    if dtype.startswith("fp8") or fault == "stubborn":
        time.sleep(0 if rank == 4 else 0.05)
        text = "ValueError: " + REFUSAL.format(dtype=dtype if dtype.startswith("fp8") else "fp8_e4m3")
        frame = "/x/site-packages/vllm/platforms/cuda.py"
        failure(name, "multiproc_executor.py:783", "WorkerProc failed to start.", frame, text)
        os._exit(1)
    if rank == 0:
        say(name, "INFO", "gpu_model_runner.py:4124", "Starting to load model ...")
        print(
            "Loading safetensors checkpoint shards: 100% Completed | 6/6 [00:00<00:00, 80.0it/s]", flush=True
        )
        say(name, "INFO", "default_loader.py:291", "Loading weights took 0.10 seconds")
    while True:
        time.sleep(3600)


def engine(ranks: int, dtype: str, fault: str, ready: int) -> None:
    """EngineCore: starts the workers and waits for the first to end."""
    name = "EngineCore_DP0"
    rename("VLLM::EngineCore")
    held: list[mmap.mmap] = []
    say(
        name,
        "INFO",
        "core.py:97",
        f"Initializing a V1 LLM engine (v0.16.0) with config: model='m', dtype=torch.bfloat16, "
        f"tensor_parallel_size={ranks}, quantization=modelopt_fp4, kv_cache_dtype={dtype}, device_config=cuda,",
    )
    if fault == "hang":
        time.sleep(3600)
    workers = []
    for rank in sorted(range(ranks), key=lambda rank: rank != 4):
        pid = os.fork()
        if pid == 0:
            worker(rank, dtype, fault, held)
        workers.append(pid)
        time.sleep(0.02)
    if dtype.startswith("fp8") or fault in ("unknown", "stubborn"):
        for pid in workers:
            os.waitpid(pid, 0)
        wrapper = (
            "Exception: WorkerProc initialization failed due to an exception in a background process. "
            "See stack trace for root cause."
        )
        failure(name, "core.py:1006", "EngineCore failed to start.", "/x/vllm/v1/engine/core.py", wrapper)
        os._exit(1)
    say(name, "INFO", "kv_cache_utils.py:1307", "GPU KV cache size: 189,952 tokens")
    os.write(ready, b"x")
    os.waitpid(-1, 0)
    os._exit(1)


def serve(options: argparse.Namespace, fault: str, children: list[int]) -> None:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *arguments: object) -> None:
            pass

        def answer(self, status: int, value: object) -> None:
            body = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self) -> None:
            models = {"data": [{"id": options.served_model_name}]}
            self.answer(200, models if self.path == "/v1/models" else {})

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            if fault == "first-request":
                text = "RuntimeError: expected scalar type BFloat16 but found Float8_e4m3fn"
                failure(
                    "Worker_TP0", "multiproc_executor.py:783", "WorkerProc hit an exception.", "/x/a.py", text
                )
                self.answer(500, {"error": {"message": "EngineCore encountered an issue."}})
                os.kill(os.getpid(), signal.SIGTERM)
                return
            choice = {"text": " 4", "finish_reason": "length"}
            self.answer(200, {"choices": [choice], "usage": {"completion_tokens": 8}})

    server = ThreadingHTTPServer((options.host, options.port), Handler)

    def leave(*_: object) -> None:
        for pid in children:
            os.kill(pid, signal.SIGKILL)
        os._exit(0)

    signal.signal(signal.SIGTERM, leave)
    say("APIServer", "INFO", "launcher.py:38", "Available routes are:")
    say("APIServer", "INFO", "on.py:62", "Application startup complete.")
    server.serve_forever()


def main() -> None:
    parser = argparse.ArgumentParser(prog="api_server.py")
    parser.add_argument("--model", type=Path)
    parser.add_argument("--served-model-name")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int)
    parser.add_argument("--tensor-parallel-size", type=int, default=1)
    parser.add_argument("--max-model-len", type=int)
    parser.add_argument("--kv-cache-dtype", default="auto")
    parser.add_argument("--trust-remote-code", action="store_true")
    options = parser.parse_args()
    fault = os.environ.get("STAND_IN_FAULT", "")
    say("APIServer", "INFO", "utils.py:355", "  version 0.16.0 (a stand-in)")
    given = {"model": str(options.model), "tensor_parallel_size": options.tensor_parallel_size}
    if options.kv_cache_dtype != "auto":
        given["kv_cache_dtype"] = options.kv_cache_dtype
    say("APIServer", "INFO", "utils.py:294", f"non-default args: {given}")
    dtype = kv_dtype(options.model, options.kv_cache_dtype)
    reading, writing = os.pipe()
    core = os.fork()
    if core == 0:
        os.close(reading)
        engine(options.tensor_parallel_size, dtype, fault, writing)
    os.close(writing)
    if os.read(reading, 1):
        serve(options, fault, [core])
    _, status = os.waitpid(core, 0)
    print(
        "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): "
        f"{{'EngineCore_DP0': {os.waitstatus_to_exitcode(status)}}}",
        file=sys.stderr,
        flush=True,
    )
    sys.exit(1)


if __name__ == "__main__":
    main()
