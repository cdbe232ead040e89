"""Phases of a start-up, and what its log says about itself."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from orchestrator.diagnosis.lines import read
from orchestrator.diagnosis.startup import Meeting, Phase, StartUp
from orchestrator.engines.command_line import arguments_of
from orchestrator.engines.vllm.log.grammar import GRAMMAR
from orchestrator.engines.vllm.log.start import START
from tests.diagnosis.labels import log, named


def fed(lines: Iterable[bytes]) -> StartUp:
    startup = StartUp(GRAMMAR)
    for line in read(lines, GRAMMAR):
        startup.feed(line)
    return startup


def of_case(name: str) -> StartUp:
    return fed(log(named(name)).split(b"\n"))


@pytest.mark.parametrize(
    ("line", "phase"),
    [
        (b"(APIServer pid=1) INFO 01-02 15:23:56 [a.py:1] vLLM API server version 0.16.0", Phase("configuring", line=1)),
        (b"INFO 01-02 15:23:56 [a.py:1] world_size=8 rank=4 local_rank=4", Phase("starting workers", line=1)),
        (
            b"Loading safetensors checkpoint shards:  12% Completed | 8/64 [00:10<01:10,  1.26s/it]",
            Phase("loading weights", 8, 64, 70, 1),
        ),
        (
            b"Loading safetensors checkpoint shards:   0% Completed | 0/64 [00:00<?, ?it/s]",
            Phase("loading weights", 0, 64, None, 1),
        ),
        (b"Loading safetensors checkpoint shards (eager):  1% Completed | 1/119 [00:10<1:02:03,  1.26s/it]", Phase("loading weights", 1, 119, 3723, 1)),
        (b"INFO 01-02 15:23:56 [a.py:1] torch.compile took 30.00 s in total", Phase("compiling", line=1)),
        (b"INFO 01-02 15:23:56 [a.py:1] GPU KV cache size: 250,000 tokens", Phase("allocating kv cache", line=1)),
        (
            b"Capturing CUDA graphs (decode, FULL):  31%|xxx       | 6/19 [00:01<00:02,  7.12it/s]",
            Phase("capturing graphs", 6, 19, 2, 1),
        ),
        (b"INFO 01-02 15:23:56 [a.py:1] Starting vLLM server on http://0.0.0.0:8000", Phase("starting server", line=1)),
        (b"INFO:     Application startup complete.", Phase("up", line=1)),
        (b"something else", Phase("starting")),
    ],
)  # fmt: skip
def test_a_milestone(line: bytes, phase: Phase) -> None:
    assert fed([line]).phase == phase


def test_a_phase_never_goes_back() -> None:
    startup = StartUp(GRAMMAR)
    seen = []
    for line in read(log(named("healthy-glm47-tp8-noise")).split(b"\n"), GRAMMAR):
        seen.append(START.phases.index(startup.feed(line).name))
    assert seen == sorted(seen)
    assert startup.phase.name == "up"


def test_what_a_log_says_about_itself() -> None:
    startup = of_case("mla-fp8kv-kimi-k25-tp8")
    assert startup.version == "0.16.0"
    assert startup.engine["kv_cache_dtype"] == "fp8_e4m3"
    assert startup.gpus == 8
    assert startup.compute_cap == "12.0"
    assert startup.arguments is not None
    assert startup.arguments["max_model_len"] == "131072"
    assert "kv_cache_dtype" not in startup.arguments


def test_the_kv_tokens_and_the_backend() -> None:
    startup = of_case("healthy-after-failed-first-launch")
    assert startup.kv_tokens == 136192
    assert startup.attention_backend == "TRITON_MLA"


@pytest.mark.parametrize(
    ("text", "context"),
    [
        (
            "reduced from 131072 to 46112 to fit in available GPU memory (3.08 GiB available for KV cache)",
            46112,
        ),
        ("full model context length 131072 fits in available GPU memory", None),
    ],
)
def test_a_context_that_was_left_to_the_engine(text: str, context: int | None) -> None:
    line = (
        f"(EngineCore_DP0 pid=7) INFO 02-20 21:35:07 [kv_cache_utils.py:1445] Auto-fit max_model_len: {text}"
    )
    assert fed([line.encode()]).context == context


def test_an_old_server_lists_all_its_arguments() -> None:
    startup = of_case("flashattn-v1-fp8kv")
    assert startup.version == "0.7.3"
    assert startup.arguments is not None
    assert startup.arguments["kv_cache_dtype"] == "fp8"


def test_arguments_that_are_no_python_literal() -> None:
    startup = fed(
        [b"INFO 01-02 15:23:56 [a.py:1] non-default args: {'a': <X object>, 'kv_cache_dtype': 'fp8', 'n': 3}"]
    )
    assert startup.arguments is not None
    assert (startup.arguments["kv_cache_dtype"], startup.arguments["n"]) == ("fp8", "3")


def test_a_shells_trace_shows_the_command() -> None:
    startup = fed(
        [b"+ vllm serve some/model --tensor-parallel-size 8 --kv-cache-dtype fp8 --trust-remote-code"]
    )
    assert startup.arguments == {
        "tensor_parallel_size": "8",
        "kv_cache_dtype": "fp8",
        "trust_remote_code": "True",
    }


def test_a_command_line() -> None:
    argv = ("vllm", "serve", "m", "--kv-cache-dtype=fp8", "--max-model-len", "131072", "--enforce-eager")
    assert arguments_of(argv) == {"kv_cache_dtype": "fp8", "max_model_len": "131072", "enforce_eager": "True"}


OTHERS = (
    b"INFO:     Application startup complete.",
    b"INFO 01-02 15:23:55 [__init__.py:1] Available plugins for group vllm.platform_plugins:",
)
BEGINS = b"(EngineCore pid=9) INFO 01-02 15:23:56 [core.py:1] Initializing a V1 LLM engine (v0.16.0) with config: model='x'"


def test_a_server_in_which_the_engine_only_begins_is_another_programs() -> None:
    startup = fed([*OTHERS, BEGINS])
    assert (startup.up_line, startup.phase.name, startup.begun) == (None, "starting engine", True)
    assert fed(OTHERS).up_line == 1
    # what an engine said before it served stays, and so does a server whose log has lost its beginning
    own = b"(APIServer pid=7) INFO 01-02 15:23:54 [api_server.py:1] vLLM API server version 0.16.0"
    assert fed([own, *OTHERS, BEGINS]).up_line == 2
    assert fed([*OTHERS, BEGINS.replace(b"(EngineCore pid=9) ", b"")]).up_line == 1


def test_ranks_wait_where_all_meet_until_they_have_met() -> None:
    waits = b"(Worker pid=1) INFO 01-02 15:23:56 [a.py:1] world_size=2 rank=0 local_rank=0 distributed_init_method=tcp://10.0.0.1:29501 backend=nccl"
    met = b"(Worker pid=1) INFO 01-02 15:23:57 [a.py:1] rank 0 in world size 2 is assigned as DP rank 0, PP rank 0, TP rank 0, EP rank 0"
    by_nccl = b"(Worker pid=1) INFO 01-02 15:23:57 [a.py:1] vLLM is using nccl==2.27.5"
    assert fed([waits]).meeting == Meeting("10.0.0.1:29501")
    assert fed([waits, met]).meeting == fed([waits, by_nccl]).meeting == Meeting("10.0.0.1:29501", met=True)
    assert fed([waits.replace(b"world_size=2", b"world_size=1"), met]).meeting is None
