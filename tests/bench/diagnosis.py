"""How fast is a log read, and in how much memory?

    python tests/bench/diagnosis.py [--megabytes 200] [--gigabyte] [--rounds 3] [--kinds-only]

Prints: a log with its fault at 40 % and the wrappers at the end, of a server's talk and of a start's noise, read with the
whole catalogue, against `LC_ALL=C grep -cE -f` with as many patterns on the same file, alternating, best of the rounds;
the peak memory on a log of 1 GB; how many lines a second the follower takes, and the share of a core at 50,000; the time
to load the catalogue, and of a first `deploy diagnose` in a new home; what a line of each kind of kinds_of_line.txt costs
in processor time, 40,000 of a kind, with Hyperscan and without.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from orchestrator.base.data_folders import shipped
from orchestrator.diagnosis import gate
from orchestrator.diagnosis.engine import diagnose_log
from orchestrator.diagnosis.live import Live
from orchestrator.engines.vllm.log.grammar import GRAMMAR
from orchestrator.patches import catalogue
from orchestrator.patches.known import Known
from orchestrator.patches.literals import words_of

SERVING = (
    b"(APIServer pid=2471) INFO 02-20 21:35:%02d [loggers.py:127] Engine 000: Avg prompt throughput: %d.3 tokens/s, Avg"
    b" generation throughput: 61.0 tokens/s, Running: 4 reqs, Waiting: 0 reqs, GPU KV cache usage: 0.4%%, Prefix cache hit"
    b" rate: 0.0%%\n",
    b'(APIServer pid=2471) INFO:     10.1.%d.%d:51234 - "POST /v1/chat/completions HTTP/1.1" 200 OK\n',
    b"(EngineCore_DP0 pid=2605) WARNING 02-20 21:%02d:%02d [scheduler.py:9] request cmpl-77 exceeds nothing, going on\n",
)
HEAD = (
    b"(APIServer pid=2471) INFO 02-20 21:34:40 [utils.py:294] non-default args: {'model': '/srv/models/x'}\n"
)
WORKER = b"(Worker_TP4 pid=2610) ERROR 02-20 21:35:07 [multiproc_executor.py:783] "
FAULT = b"".join(
    WORKER + line + b"\n"
    for line in (
        b"WorkerProc failed to start.",
        b"Traceback (most recent call last):",
        b'  File "/opt/vllm/platforms/cuda.py", line 354, in get_attn_backend_cls',
        b"    raise ValueError(",
        b"ValueError: No valid attention backend found for cuda with AttentionSelectorConfig(head_size=576, dtype=torch.bfloat16,"
        b" kv_cache_dtype=fp8_e4m3, block_size=None, use_mla=True, has_sink=False, use_sparse=False). Reasons: {TRITON_MLA:"
        b" [kv_cache_dtype not supported]}.",
    )
)
WRAPPER = (
    b"(APIServer pid=2471) Traceback (most recent call last):\n"
    b'(APIServer pid=2471)   File "/opt/vllm/entrypoints/launcher.py", line 5, in <module>\n'
    b"(APIServer pid=2471) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}\n"
)
CHUNK = 1 << 18
KINDS = Path(__file__).with_name("kinds_of_line.txt")
"""A name and a line each: {d} stands for a digit and {n} for a number that differ from line to line."""
NOISE = ("nccl info", "nccl info, ring", "nccl info, of a worker", "debug", "progress, graphs")
"""What a start with NCCL_DEBUG and VLLM_LOGGING_LEVEL prints most of."""
LINES = 40_000


def kinds() -> dict[str, str]:
    pairs = (each.split("\t", 1) for each in KINDS.read_text("utf-8").splitlines())
    return {name: line.replace(r"\x1b", "\x1b") for name, line in pairs}


def lines_of(kind: str, count: int) -> bytes:
    """So many lines of a kind, of which no two that follow each other are alike."""
    filled = (
        kind.replace("{d}", str(number % 10)).replace("{n}", str(100 + number * 7 % 900))
        for number in range(count)
    )
    return ("\n".join(filled) + "\n").encode()


def filler(count: int) -> bytes:
    """About `count` bytes of a server's daily talk."""
    lines = [SERVING[n % 3] % (n % 60, (n * 7) % 60) for n in range(3000)]
    block = b"".join(lines)
    return block * (count // len(block) + 1)


def noise() -> bytes:
    """Some megabytes of a start's noise, its kinds mixed line by line."""
    each = [lines_of(kinds()[name], 8000).splitlines(keepends=True) for name in NOISE]
    return b"".join(b"".join(together) for together in zip(*each, strict=True))


def write_log(path: Path, megabytes: int, block: bytes) -> int:
    """A log of such lines with its fault at 40 %; gives its size in bytes."""
    with path.open("wb") as log:
        log.write(HEAD)
        for share in (0.4, 0.6):
            left = int(megabytes * 1e6 * share)
            while left > 0:
                left -= log.write(block)
            log.write(FAULT if share == 0.4 else WRAPPER)
    return path.stat().st_size


def patterns_of() -> list[str]:
    """One extended regular expression for each way in which a patch recognises a failure."""
    found = []
    for patch in PATCHES:
        for match in patch.match:
            words = match.text or (words_of(match.pattern or match.line or "")[:1])
            if words:
                found.append(re.sub(r"([][().*+?{}|^$\\])", r"\\\1", words[0]))
    return found


def chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb", buffering=0) as log:
        while chunk := log.read(CHUNK):
            yield chunk


def timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def scan_against_grep(what: str, path: Path, size: int, rounds: int) -> None:
    expressions = path.with_suffix(".patterns")
    expressions.write_text("\n".join(patterns_of()) + "\n")

    def ours() -> None:
        found = diagnose_log(chunks(path), grammar=GRAMMAR, known=Known(), patches=PATCHES)
        assert found.finding is not None and found.finding.patch == "fp8-kv-mla", found

    def grep() -> None:
        command = ["grep", "-cE", "-f", str(expressions), str(path)]
        subprocess.run(command, env={**os.environ, "LC_ALL": "C"}, stdout=subprocess.PIPE, check=True)

    times = [(timed(ours), timed(grep)) for _ in range(rounds)]
    mine, its = min(one for one, _ in times), min(one for _, one in times)
    count = len(patterns_of())
    print(f"{what}, {size / 1e6:.0f} MB, {len(PATCHES)} patches: {mine:.2f} s, {size / mine / 1e6:.0f} MB/s")
    print(f"grep with {count} patterns: {its:.2f} s, {size / its / 1e6:.0f} MB/s")


def memory(path: Path) -> None:
    """In a process of its own: the peak of this one has seen other things."""
    program = f"import sys; sys.argv = ['deploy', 'diagnose', {str(path)!r}]; from orchestrator.cli.main import main; main()"
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.DEVNULL)
    _, _, used = os.wait4(child.pid, 0)
    print(f"peak memory on {path.stat().st_size / 1e9:.2f} GB: {used.ru_maxrss / 1000:.0f} MB")


def live(seconds: float = 3.0) -> None:
    """Chunks as a follower gets them, 50,000 lines a second, and as many as it can take."""
    follower = Live(Known(), PATCHES, GRAMMAR)
    block = filler(1 << 20)
    each = block.count(b"\n") / len(block)
    began, taken, cpu = time.perf_counter(), 0, time.process_time()
    while time.perf_counter() - began < seconds:
        for start in range(0, len(block), 1 << 15):
            follower.feed(block[start : start + (1 << 15)])
            follower.look()
        taken += len(block)
    spent = time.process_time() - cpu
    rate = taken * each / spent
    print(f"live: {rate:,.0f} lines a second of processor time; {50_000 / rate:.1%} of a core at 50,000")


def loading() -> None:
    catalogue.load([shipped("patches")])
    best = min(timed(lambda: catalogue.load([shipped("patches")])) for _ in range(5))
    print(f"catalogue of {len(PATCHES)} patches: loaded in {best * 1000:.0f} ms")


def first_diagnosis(log: Path) -> None:
    """In a home that has no cache yet."""

    def run() -> None:
        with tempfile.TemporaryDirectory() as home:
            clean = {**os.environ, "HOME": home, "XDG_CACHE_HOME": f"{home}/.cache"}
            clean.pop("PYTHONDONTWRITEBYTECODE", None)  # what is installed was compiled when it was
            command = [sys.executable, "-m", "orchestrator.cli.main", "diagnose", str(log)]
            subprocess.run(command, env=clean, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    print(f"first diagnosis in a new home: {min(timed(run) for _ in range(3)):.2f} s")


def each_kind() -> None:
    """Processor time of a line by kind, the slowest first."""
    for way, module in (("with Hyperscan", gate.hyperscan), ("without", None)):
        gate.hyperscan = module
        gate.gate_of.cache_clear()
        spent = sorted(((_microseconds(kind), name) for name, kind in kinds().items()), reverse=True)
        print(f"a line of {len(spent)} kinds {way}: at most {spent[0][0]:.1f} us")
        print("\n".join(f"  {each:6.1f}  {name}" for each, name in spent))


def _microseconds(kind: str) -> float:
    log = lines_of(kind, LINES)
    pieces = [log[start : start + CHUNK] for start in range(0, len(log), CHUNK)]
    began = time.process_time()
    diagnose_log(pieces, grammar=GRAMMAR, known=Known(), patches=PATCHES)
    return (time.process_time() - began) / LINES * 1e6


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--gigabyte", action="store_true", help="also the peak memory on a log of 1 GB")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kinds-only", action="store_true", help="only what a line of each kind costs")
    given = parser.parse_args()
    PATCHES = catalogue.load([shipped("patches")])
    print(
        f"load {os.getloadavg()[0]:.1f}, peak of this process so far {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1000} MB"
    )
    if not given.kinds_only:
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "vllm.log"
            talk = filler(4 << 20)[: 4 << 20].rpartition(b"\n")[0] + b"\n"
            for what, block in (("a server's talk", talk), ("a start's noise", noise())):
                scan_against_grep(what, log, write_log(log, given.megabytes, block), given.rounds)
            if given.gigabyte:
                write_log(log, 1000, talk)
                memory(log)
            write_log(log, 1, talk)
            first_diagnosis(log)
        live()
        loading()
    each_kind()
