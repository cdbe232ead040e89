"""SGLang's log is read by the same code, though its records look otherwise in every respect."""

from __future__ import annotations

import pytest

from orchestrator.diagnosis.engine import Diagnosis, diagnose, diagnose_log
from orchestrator.diagnosis.lines import read
from orchestrator.diagnosis.startup import Phase, StartUp
from orchestrator.engines.sglang.log.grammar import GRAMMAR as SGLANG
from orchestrator.patches.known import Known
from orchestrator.patches.patch import Patch
from tests.diagnosis.test_cases import PATCHES

START = b"""\
[2026-11-20 10:00:00] server_args={'model_path': '/srv/models/x', 'tp_size': 2, 'mem_fraction_static': 0.87, 'port': 30000}
[2026-11-20 10:00:05 TP0] Init torch distributed begin.
[2026-11-20 10:00:05 TP1] Init torch distributed begin.
[2026-11-20 10:00:09 TP0] Load weight begin. avail mem=138.90 GB
Loading safetensors checkpoint shards:  25% Completed | 1/4 [00:02<00:06,  2.1s/it]
[2026-11-20 10:00:20 TP0] Load weight end. type=LlamaForCausalLM, dtype=torch.bfloat16, avail mem=123.10 GB
"""
SERVES = b"""\
[2026-11-20 10:00:21 TP0] KV Cache is allocated. #tokens: 136192, K size: 5.20 GB, V size: 5.20 GB
[2026-11-20 10:00:22 TP0] Capture cuda graph begin. This can take up to several minutes. avail mem=109.00 GB
[2026-11-20 10:00:30 TP0] Capture cuda graph end. Time elapsed: 8.02 s.
INFO:     Started server process [4711]
INFO:     Application startup complete.
[2026-11-20 10:00:31] INFO:     127.0.0.1:40000 - "GET /model_info HTTP/1.1" 200 OK
[2026-11-20 10:00:33] The server is fired up and ready to roll!
"""
DIES = b"""\
[2026-11-20 10:00:21 TP1] Scheduler hit an exception: Traceback (most recent call last):
  File "/opt/sglang/srt/managers/scheduler.py", line 2630, in run_scheduler_process
    scheduler = Scheduler(server_args, port_args, gpu_id, tp_rank, dp_rank)
  File "/opt/sglang/srt/model_executor/model_runner.py", line 1201, in init_memory_pool
    raise RuntimeError(
RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.

[2026-11-20 10:00:21 TP0] Scheduler hit an exception: Traceback (most recent call last):
  File "/opt/sglang/srt/managers/scheduler.py", line 2630, in run_scheduler_process
    scheduler = Scheduler(server_args, port_args, gpu_id, tp_rank, dp_rank)
  File "/opt/sglang/srt/model_executor/model_runner.py", line 1201, in init_memory_pool
    raise RuntimeError(
RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.

[2026-11-20 10:00:21] Received sigquit from a child process. It usually means the child failed.
[2026-11-20 10:00:22] Traceback (most recent call last):
  File "/opt/sglang/launch_server.py", line 30, in <module>
    run_server(server_args)
RuntimeError: Rank 1 scheduler died during initialization (exit code: -3).
"""
SHARE = Patch.model_validate(
    {
        "id": "memory-share-too-small",
        "title": "The share of memory leaves no room for a KV cache",
        "category": "kv_cache_memory",
        "engines": ["sglang"],
        "explanation": "Weights take all of the share.",
        "match": [{"exception": "RuntimeError", "text": ["Not enough memory"], "engine": {"tp_size": "2"}}],
        "advice": ["raise the share"],
        "cost": "none",
        "never": ["an out-of-memory error of CUDA"],
        "evidence": [{"seen": "a log", "date": "2026-11"}],
    }
)


def found(log: bytes, **known: object) -> Diagnosis:
    """What both ways of reading come to."""
    reader = Known(**known)  # type: ignore[arg-type]
    whole = diagnose(log.rstrip(b"\n").split(b"\n"), grammar=SGLANG, known=reader, patches=[SHARE])
    for size in (7, 300, 1 << 20):
        pieces = [log[at : at + size] for at in range(0, len(log), size)]
        assert diagnose_log(pieces, grammar=SGLANG, known=reader, patches=[SHARE]) == whole
    return whole


def test_a_start_passes_its_own_phases() -> None:
    startup = StartUp(SGLANG)
    phases = [startup.phase, *map(startup.feed, read((START + SERVES).splitlines(), SGLANG))]
    passed = [name for name in SGLANG.start.phases if name != "downloading"]
    assert list(dict.fromkeys(phase.name for phase in phases)) == passed
    assert Phase("loading weights", 1, 4, 6, 5) in phases
    assert (startup.gpus, startup.kv_tokens) == (2, 136192)
    assert found(START + SERVES).verdict == "healthy"


def test_the_root_cause_of_a_failure_is_what_a_rank_said_first() -> None:
    diagnosis = found(START + DIES)
    assert diagnosis.verdict == "fault"
    assert diagnosis.finding is not None and diagnosis.finding.patch == SHARE.id
    cause = diagnosis.root_cause
    assert cause is not None
    assert cause.text == "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static."
    assert (cause.line, cause.process, cause.exception) == (12, "TP1", "RuntimeError")
    assert diagnosis.folded.processes == ("TP0",)
    assert [each.text for each in diagnosis.evidence] == [cause.text, "mem_fraction_static=0.87"]


def test_a_wrapper_or_a_death_alone_is_told_as_such() -> None:
    lines = (START + DIES).splitlines(keepends=True)
    first = found(b"".join([*lines[:6], *lines[20:]]))
    assert first.verdict == "unknown_fault"
    assert first.root_cause is not None and first.root_cause.text.startswith("Received sigquit")


def test_what_a_client_sent_is_no_evidence() -> None:
    forged = DIES.replace(b"\n", b"\\n")
    asked = b"[2026-11-20 10:05:00] Receive: obj=GenerateReqInput(text='" + forged + b"')\n"
    assert found(START + SERVES + asked).verdict == "healthy"
    pasted = START + SERVES + DIES.replace(b" TP1]", b"]").replace(b" TP0]", b"]")
    assert found(pasted[: pasted.index(b"[2026-11-20 10:00:21] Received")]).verdict == "healthy"


def test_an_engine_that_dies_while_it_serves_says_so_itself() -> None:
    assert found(START + SERVES + DIES).verdict == "fault"


ALONE = START.replace(b"'tp_size': 2", b"'tp_size': 1").replace(b" TP0]", b"]").replace(b" TP1]", b"]")


def test_a_single_scheduler_has_no_rank_and_is_believed_all_the_same() -> None:
    serves, dies = SERVES.replace(b" TP0]", b"]"), DIES.replace(b" TP1]", b"]").replace(b" TP0]", b"]")
    died = found(ALONE + serves + dies)
    assert died.root_cause is not None and died.root_cause.process == "scheduler"
    assert "Not enough memory" in died.root_cause.text
    killed = (
        b"[2026-11-20 11:00:00] Subprocess scheduler_0 (pid=4712) crashed with exit code -9. Triggering SIGQUIT for cleanup...\n"
        b"[2026-11-20 11:00:00] SIGQUIT received. signum=None, frame=None. It usually means one child failed.\n"
    )
    gone = found(ALONE + serves + killed)
    assert gone.verdict == "unknown_fault"
    assert gone.root_cause is not None and "crashed with exit code -9" in gone.root_cause.text


def test_a_stamp_of_the_same_form_is_no_header() -> None:
    stamped = b"".join(
        b"[2026-11-20 10:00:00] " + line for line in (START + DIES).splitlines(keepends=True)[:13]
    )
    assert [line.process for line in read(stamped.splitlines(), SGLANG)][1:3] == ["TP0", "TP1"]


def test_another_start_leaves_the_failure_behind() -> None:
    assert found(START + DIES + START).verdict == "starting"
    assert found(START + SERVES + START).verdict == "starting"


@pytest.mark.parametrize(("seconds", "verdict"), [(800, "starting"), (1000, "hang")])
def test_silence_is_a_hang(seconds: float, verdict: str) -> None:
    assert found(START, idle_seconds=seconds).verdict == verdict


def test_what_a_patch_asks_of_one_engines_version_never_fits_another() -> None:
    (match,) = SHARE.match
    of_another = SHARE.model_copy(update={"match": (match.model_copy(update={"vllm": ">=0.1"}),)})
    known = Known(version="0.5.23")
    told = diagnose_log([START + DIES], grammar=SGLANG, known=known, patches=[of_another])
    assert told.verdict == "unknown_fault"


def of_a_scheduler(said: str) -> bytes:
    heading, *rest = DIES.decode().split(
        "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static."
    )
    return (heading + said + rest[-1]).encode()


@pytest.mark.parametrize(
    ("said", "patch"),
    [
        (
            "RuntimeError: The NVIDIA driver on your system is too old (found version 12020).",
            "driver-too-old",
        ),
        (
            "RuntimeError: CUDA error: no kernel image is available for execution on the device",
            "no-kernel-image",
        ),
        ("RuntimeError: No CUDA GPUs are available", "gpu-not-visible"),
        ("OSError: [Errno 28] No space left on device: '/srv/models/x/model.safetensors'", "disk-full"),
        (
            "OSError: You are trying to access a gated repo.\nMake sure to have access to it at https://huggingface.co/a/b.\n"
            "403 Client Error. Cannot access gated repo for url https://huggingface.co/a/b/resolve/main/config.json.",
            "hub-gated-repository",
        ),
        (
            "torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 1/2 clients joined.",
            "rendezvous-timeout",
        ),
        (
            "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:3690, invalid usage, NCCL version 2.27.5\n"
            "ncclInvalidUsage: This usually reflects invalid usage of NCCL library.\nLast error:\n"
            "Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1b000",
            "nccl-duplicate-gpu",
        ),
        ("OSError: [Errno 24] Too many open files", "too-many-open-files"),
    ],
)
def test_what_is_no_engines_failure_is_known_here_too(said: str, patch: str) -> None:
    diagnosis = diagnose_log([START + of_a_scheduler(said)], grammar=SGLANG, known=Known(), patches=PATCHES)
    assert diagnosis.finding is not None and diagnosis.finding.patch == patch
    assert diagnosis.remedy is not None and (diagnosis.remedy.advice or diagnosis.remedy.actions)


def test_a_port_that_is_taken_is_the_port_of_its_own_command() -> None:
    taken = b"[2026-11-20 10:00:31] ERROR:    [Errno 98] error while attempting to bind on address ('0.0.0.0', 30000): address already in use\n"
    log = START + SERVES.partition(b"INFO:     Started")[0] + taken
    diagnosis = diagnose_log([log], grammar=SGLANG, known=Known(), patches=PATCHES)
    assert diagnosis.finding is not None and diagnosis.finding.patch == "port-in-use"
    assert diagnosis.remedy is not None and ":30000" in diagnosis.remedy.advice[0]


def test_what_is_vllms_alone_is_not_said_of_another_engine() -> None:
    memory = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.1 GiB"
    diagnosis = diagnose_log([START + of_a_scheduler(memory)], grammar=SGLANG, known=Known(), patches=PATCHES)
    assert diagnosis.finding is None or diagnosis.finding.patch in {
        p.id for p in PATCHES if p.concerns("sglang")
    }
