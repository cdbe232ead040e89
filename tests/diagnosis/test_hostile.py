"""Whatever somebody writes into a log, it is read to its end, and soon."""

from __future__ import annotations

import re
import time

import pytest

from orchestrator.base.data_folders import shipped
from orchestrator.diagnosis.engine import diagnose_log
from orchestrator.diagnosis.lines import LONGEST
from orchestrator.engines.vllm.log.grammar import GRAMMAR
from orchestrator.patches import catalogue
from orchestrator.patches.known import Known
from tests.bench.expressions import attacks, of_the_code

PATCHES = catalogue.load([shipped("patches")])
HEAD = b"(APIServer pid=1) INFO 02-20 21:34:40 [utils.py:294] non-default args: {'model': 'x'}\n"
TRACEBACK = b'Traceback (most recent call last):\n  File "/opt/vllm/core.py", line 5, in run\n    go()\n'
DIGITS = b"9" * 5000
ENOUGH_SECONDS = 3.0
"""Of processor time for some 64 KiB."""
MATCHED = {
    "diagnosis.lines _CARRIER", "diagnosis.lines _NATIVE", "diagnosis.lines _LOGFMT", "diagnosis.lines _UVICORN",
    "engines.vllm.log.records _PROCESS", "engines.vllm.log.records _HEADER", "engines.vllm.log.records _OF_ENGINE",
}  # fmt: skip
"""Those that are only asked whether a line begins so."""

LOGS = {
    "a pid of thousands of digits": b"(EngineCore_DP0 pid=" + DIGITS + b") ERROR 02-20 21:35:07 [core.py:7] failed\n",
    "a pid of NCCL": b"host:" + DIGITS + b":1 [0] NCCL WARN Cuda failure\n",
    "a line number of a frame": b'Traceback (most recent call last):\n  File "x.py", line ' + DIGITS + b"\nValueError: x\n",
    "a process in many brackets": b"(a pid=1) " * 6000 + b"\n",
    "shards": b"Loading safetensors checkpoint shards: 5% Completed | " + DIGITS + b"/" + DIGITS + b" [00:01<00:02]\n",
    "an eta": b"Loading safetensors checkpoint shards: 5% Completed | 1/2 [00:01<" + DIGITS + b":1]\n",
    "tokens": b"INFO 02-20 21:35:07 [x.py:7] GPU KV cache size: " + DIGITS + b" tokens\n",
    "a version": b"INFO 02-20 21:35:07 [x.py:7] vLLM API server version " + DIGITS + b"." + DIGITS + b"\n",
    "a banner": b"#####  version 1." + b"1" * 60_000 + b" x\n",
    "parallel sizes": b"INFO 02-20 21:35:07 [x.py:7] Initializing a V1 LLM engine (v0.16.0) with config: tensor_parallel_size="
    + DIGITS
    + "\nINFO 02-20 21:35:08 [x.py:7] args: Namespace(pipeline_parallel_size=²)\n".encode(),
    "requests that run": b"INFO 02-20 21:35:07 [x.py:7] Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 0.0 tokens/s,"
    b" Running: " + DIGITS + b" reqs\n",
    "arguments nested deep": b"non-default args: {'a': " + b"[" * 60_000 + b"}\n",
    "arguments with many signs": b"non-default args: {'a': " + b"-" * 60_000 + b"1}\n",
    "lists without an end": b"non-default args: {" + b"'a': [" * 10_000 + b"}\n",
    "a command": b"$ " + b"python" * 10_000 + b" -m vllm\n",
    "blanks before a frame": TRACEBACK + b" " * 60_000 + b"File\n",
    "blanks at the beginning": b" " * 60_000 + b"x\n",
    "a progress bar": b"1" * 60_000 + b"\r2\n",
    "names without an end": TRACEBACK + b"Aa." * 20_000 + b"\n",
    "a teardown": TRACEBACK + b"ValueError: " + b"a." * 30_000 + b"\n",
    "NCCL errors": TRACEBACK + b"RuntimeError: " + b"NCCL error: " * 5000 + b"\n",
    "a quotation": TRACEBACK + b"RuntimeError: " + b"Worker failed with error '" * 2400 + b"\n",
    "DeepGEMM": TRACEBACK + b"RuntimeError: " + b"CUDA_ERROR_" * 5900 + b"\n",
    "DeepGEMM's assertions": TRACEBACK + b"RuntimeError: " + b"Assertion error (deep_gemm" * 2500 + b"\n",
    "a selector": TRACEBACK + b"ValueError: " + b"No valid attention backend found for a with . Reasons: {" * 1100 + b"\n",
    "reasons": TRACEBACK + b"ValueError: No valid attention backend found for cuda with x. Reasons: {" + b"A: [" * 15_000 + b"}\n",
    "quotes in reasons": TRACEBACK
    + b"ValueError: Selected backend A is not valid for this configuration. Reason: ["
    + b"'\\" * 30_000
    + b"]\n",
    "glued records": b"x (" + b"a pid=1" * 9000 + b"\n",
    "a long name of an exception": TRACEBACK + b"A" * 60_000 + b"\n",
    "many exceptions": (TRACEBACK + b"RuntimeError: CUDA_ERROR_ /jit\n") * 300,
}  # fmt: skip


@pytest.mark.parametrize("written", LOGS.values(), ids=LOGS)
def test_a_hostile_log(written: bytes) -> None:
    began = time.process_time()
    found = diagnose_log([HEAD + written], grammar=GRAMMAR, known=Known(idle_seconds=5), patches=PATCHES)
    figures_of_work = b"Avg prompt throughput" in written
    assert found.verdict in (("healthy",) if figures_of_work else ("starting", "fault", "unknown_fault"))
    diagnose_log([written + HEAD], grammar=GRAMMAR, known=Known(), patches=PATCHES)
    assert time.process_time() - began < 2 * ENOUGH_SECONDS


def test_texts_made_of_its_own_words_do_not_keep_an_expression_of_the_code_busy() -> None:
    for pattern, (where, flags) in of_the_code().items():
        compiled = re.compile(pattern, flags & ~re.UNICODE)
        judge = compiled.match if where in MATCHED else compiled.search
        for text in dict.fromkeys(attacks(pattern, flags, LONGEST // 4)):
            began = time.process_time()
            judge(text)
            assert time.process_time() - began < ENOUGH_SECONDS, (where, text[:80])
