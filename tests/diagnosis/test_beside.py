"""A line beside a failure is its cause where what it tells can be felt as that failure, and else never."""

from __future__ import annotations

import re

import pytest
from pydantic import TypeAdapter

from orchestrator.base.data_folders import shipped
from orchestrator.diagnosis.engine import Diagnosis, diagnose, diagnose_log
from orchestrator.diagnosis.omens import EXPRESSIONS
from orchestrator.engines.vllm.log.grammar import GRAMMAR
from orchestrator.patches import catalogue
from orchestrator.patches.known import Known
from orchestrator.patches.patch import Patch
from orchestrator.patches.wanted import LinePattern
from tests.diagnosis.labels import CASES, FOLDER, Case, expected, grammar_of, known_of, log

PATCHES = catalogue.load([shipped("patches")])
HEAD = "(APIServer pid=1) INFO 08-04 12:12:04 [utils.py:254] non-default args: {'model': '/m'}"
CONFIGURED = "(APIServer pid=1) INFO 08-04 12:12:11 [model.py:574] Resolved architecture: Tape"
LOADED = "(EngineCore pid=7) INFO 08-04 12:13:20 [kv_cache_utils.py:7] GPU KV cache size: 611,328 tokens"
PENDING = "(Worker_TP0 pid=9) WARNING 08-04 12:13:12 [ring.py:1] cudaMemAdvise failed (code=101), going on"
DEVICE = "open /dev/drum0 failed: No such device"
GONE = "RuntimeError: the tape reader could not be initialised"
ORDINAL = "torch.AcceleratorError: CUDA error: invalid device ordinal"


def raised(text: str, process: str = "Worker_TP0 pid=9") -> list[str]:
    lines = (
        "Failed.",
        "Traceback (most recent call last):",
        '  File "/a/b.py", line 3, in f',
        "    g()",
        text,
    )
    return [f"({process}) ERROR 08-04 12:17:15 [worker.py:7] {line}" for line in lines]


def told(*lines: str, patches: list[Patch] | None = None) -> Diagnosis:
    encoded = [line.encode() for line in (HEAD, CONFIGURED, *lines)]
    return diagnose(encoded, grammar=GRAMMAR, known=Known(), patches=patches or [])


def cause(*lines: str) -> str:
    root = told(*lines).root_cause
    return root.text if root else ""


@pytest.mark.parametrize(
    ("above", "exception"),
    [
        (PENDING, ORDINAL),
        (DEVICE, GONE),
        ("ibv_reg_mr failed with error Bad address", "RuntimeError: NIXL agent is dead"),
        ("curlCode: 60, SSL peer certificate was not OK", "Exception: b'File access error'"),
        ("misc/ibvwrap.cc:1 NCCL WARN Call to ibv_x failed", "RuntimeError: NCCL error: unhandled system error"),
        (
            "(EngineCore pid=7) DEBUG 08-04 12:12:15 [x.py:1] Failed to import tape_reader: undefined symbol: x",
            "ValueError: backend TAPE_READER is not available",
        ),
    ],
)  # fmt: skip
def test_a_line_that_can_be_felt_as_the_failure_is_its_cause(above: str, exception: str) -> None:
    assert cause(above, *raised(exception)) in above
    evidence = [line.text for line in told(above, *raised(exception)).evidence]
    assert evidence[1] == exception


@pytest.mark.parametrize(
    ("above", "exception"),
    [
        (DEVICE, "LedgerTornError: page 4 is torn"),  # says itself what it is
        (PENDING, "torch.AcceleratorError: CUDA error: an illegal memory access was encountered"),  # another error
        (PENDING.replace("TP0 pid=9", "TP1 pid=8"), ORDINAL),  # another process's
        (PENDING, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"),
        ("get_mempolicy: Operation not permitted", GONE),  # survived by every engine on a CPU
        ("libibverbs: Warning: couldn't load driver 'x.so': cannot open shared object file", GONE),
        ("Failed to import ledger_writer: undefined symbol: x", "ValueError: backend TAPE is not available"),
    ],
)  # fmt: skip
def test_what_only_stands_above_it_is_not(above: str, exception: str) -> None:
    assert cause(above, *raised(exception)) == exception


def test_a_line_is_near_only_since_the_last_milestone() -> None:
    assert cause(DEVICE, LOADED, *raised(GONE)) == GONE
    assert cause(LOADED, DEVICE, *raised(GONE)) == DEVICE


def test_what_has_the_name_of_what_is_missing_may_stand_far_above() -> None:
    failed = "Failed to import tape_reader: No module named 'tape_reader'"
    assert cause(failed, *["x"] * 500, LOADED, *raised("ValueError: Unknown backend TAPE_READER")) == failed


def test_behind_a_failure_only_what_nobody_says_and_where_the_failure_says_nothing() -> None:
    assert cause(*raised(GONE), DEVICE) == DEVICE
    assert cause(*raised(GONE), f"(Worker_TP1 pid=10) INFO 08-04 12:17:16 [x.py:1] {DEVICE}") == GONE
    assert cause(*raised("LedgerTornError: page 4 is torn"), DEVICE) == "LedgerTornError: page 4 is torn"


def test_every_phase_has_room_for_what_is_said_in_it() -> None:
    survived = ["open /dev/x: No such device"] * 40
    assert cause(*survived, LOADED, DEVICE, *raised(GONE)) == DEVICE


def test_a_patch_that_knows_the_pair_goes_before_those_that_know_the_exception_alone() -> None:
    match = {"exception": "AcceleratorError", "because_of": "cudaMemAdvise failed"}
    common = {
        "title": "x",
        "category": "other",
        "explanation": "x",
        "remedy": [],
        "advice": "x",
        "evidence": [],
    }
    pair = Patch.model_validate({"id": "pair", "match": [match], **common})
    asks_for_more = {"exception": "AcceleratorError", "text": ["CUDA", "error", "invalid", "ordinal"]}
    alone = Patch.model_validate({"id": "alone", "match": [asks_for_more], **common})

    def found(*lines: str, patches: list[Patch]) -> str | None:
        finding = told(*lines, patches=patches).finding
        return finding.patch if finding else None

    both = [alone, pair]
    assert found(PENDING, *raised(ORDINAL), patches=both) == "pair"
    assert found(*raised(ORDINAL), patches=both) == "alone"
    assert found(PENDING, LOADED, *raised(ORDINAL), patches=both) is None
    # an error that was pending makes what the exception says untrue, patch or not
    assert found(PENDING, *raised(ORDINAL), patches=[alone]) is None


def test_what_a_patch_knows_of_the_line_alone_is_advice() -> None:
    torn = "(Worker pid=9) DEBUG 08-04 12:12:15 [x.py:1] Failed to import tape_reader: /x/tape.so: undefined symbol: tape_read"
    found = told(torn, *raised("ImportError: TAPE_READER is not available"), patches=list(PATCHES))
    assert found.finding and (found.finding.patch, found.finding.confidence) == (
        "compiled-extension-mismatch",
        "likely",
    )
    assert found.remedy and not found.remedy.automatic


def test_no_expression_takes_long() -> None:
    for expression in EXPRESSIONS:
        TypeAdapter(LinePattern).validate_python(expression)


HARMLESS = b"""get_mempolicy: Operation not permitted
libibverbs: Warning: couldn't open config directory '/etc/libibverbs.d'.
[W804 12:12:27.729 utils.cpp:82] Warning: numa_migrate_pages failed. errno: 1 (function init_cpu_threads_env)
WARNING 08-04 12:12:40 [interface.py:31] Failed to import from ext._xpu_C with ModuleNotFoundError("No module named 'ext._xpu_C'")
ibdev0: NCCL WARN NET/IB : No usable adaptive routing, falling back
UserWarning: cudaGetDeviceCount() returned cudaErrorNotSupported, likely using older driver
"""
FAULTS = [case for case in CASES if expected(case)["verdict"] in ("fault", "unknown_fault")]


@pytest.mark.parametrize("case", FAULTS[::12], ids=lambda case: case.id)
def test_harmless_warnings_above_a_failure_change_no_answer(case: Case) -> None:
    text, known = log(case), known_of(expected(case))
    first = re.search(rb"Traceback|error|Error", text)
    at = text.rfind(b"\n", 0, first.start()) + 1 if first else 0
    grammar = grammar_of(case)
    bare = diagnose_log([text], grammar=grammar, known=known, patches=PATCHES)
    noisy = diagnose_log([text[:at] + HARMLESS + text[at:]], grammar=grammar, known=known, patches=PATCHES)
    assert noisy.root_cause and bare.root_cause
    assert (noisy.verdict, noisy.finding, noisy.root_cause.text) == (
        bare.verdict,
        bare.finding,
        bare.root_cause.text,
    )


def test_there_are_cases() -> None:
    assert FOLDER.is_dir() and len(FAULTS) > 500
