"""What room does vLLM leave for its KV cache on this machine's first GPU? Weights are made up, so that configs are enough.

    python tests/bench/room.py --python ~/ml-env/bin/python3 Qwen--Qwen3-32B openai--gpt-oss-20b

Each config of tests/engines/sizing/configs is started as deploy starts an engine, until the log names the room, and then ended
with all its processes. One line a launch in the form of tests/engines/measured.yaml; what went wrong is on standard error.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CONFIGS = Path(__file__).parents[1] / "engines" / "sizing" / "configs"
WEIGHTS = re.compile(r"Model loading took ([\d.]+) GiB")
ROOM = re.compile(r"Available KV cache memory: (-?[\d.]+) GiB")
VERSION = re.compile(r"version ([\d.]+)")
MARGIN_SECONDS = 3.0
"""What a card takes to be free again after its processes ended."""


def launched(python: str, config: str, more: list[str], limit: float, log: Path) -> str:
    """The log of a launch up to the line that names the room, or to its end or the limit in seconds."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(CONFIGS / f"{config}.json", Path(folder) / "config.json")
        argv = [
            python,
            "-m",
            "vllm.entrypoints.openai.api_server",
            "--model",
            folder,
            "--load-format",
            "dummy",
        ]
        argv += ["--skip-tokenizer-init", "--port", "8765", "--max-model-len", "8192", *more]
        with log.open("wb") as output:
            process = subprocess.Popen(argv, stdout=output, stderr=output, start_new_session=True)
            end = time.monotonic() + limit
            while process.poll() is None and time.monotonic() < end and not ROOM.search(read(log)):
                time.sleep(0.5)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        time.sleep(MARGIN_SECONDS)
    return read(log)


def read(log: Path) -> str:
    return log.read_text(errors="replace")


def memory_gib() -> tuple[str, float]:
    asked = ["nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader,nounits", "--id=0"]
    name, mib = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip().split(", ")
    return name, round(int(mib) / 1024, 2)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("configs", nargs="+")
    parser.add_argument("--python", default="python3", help="has vLLM")
    parser.add_argument("--share", type=float, default=0.9)
    parser.add_argument("--sequences", type=int, default=128)
    parser.add_argument("--eager", action="store_true")
    parser.add_argument("--limit", type=float, default=150.0, help="seconds a launch")
    parser.add_argument("--logs", type=Path, default=Path(tempfile.gettempdir()))
    options = parser.parse_args()
    card, memory = memory_gib()
    more = ["--gpu-memory-utilization", str(options.share), "--max-num-seqs", str(options.sequences)]
    missed = 0
    for config in options.configs:
        log = options.logs / f"{config}.log"
        flags = [*more, *(["--enforce-eager"] if options.eager else [])]
        text = launched(options.python, config, flags, options.limit, log)
        weights, room, version = (pattern.search(text) for pattern in (WEIGHTS, ROOM, VERSION))
        if weights is None or room is None:
            missed += 1
            print(f"{config}: no room named; {log} ends with\n{text[-1500:]}", file=sys.stderr)
            continue
        row = {
            "name": config,
            "model": config,
            "card": card,
            "memory": memory,
            "share": options.share,
            "version": version[1] if version else None,
            "sequences": options.sequences,
            **({"eager": True} if options.eager else {}),
            "weights": float(weights[1]),
            "available": float(room[1]),
        }
        print(f"  - {json.dumps(row)}", flush=True)
    return missed


if __name__ == "__main__":
    sys.exit(main())
