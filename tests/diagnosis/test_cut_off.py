"""A traceback whose exception is missing is a failure, and says what it was doing there and which line to fetch."""

from __future__ import annotations

import pytest

from orchestrator.diagnosis.engine import diagnose_log
from orchestrator.diagnosis.live import Live
from orchestrator.diagnosis.verdict import Diagnosis
from orchestrator.engines.vllm.log.grammar import GRAMMAR
from orchestrator.patches.known import Known

SITE = "/home/ops/ml-env/lib/python3.12/site-packages/vllm"
TP4 = "(Worker_TP4 pid=207083) ERROR 02-20 21:35:49 [multiproc_executor.py:787] "
API = "(APIServer pid=7) "
SELECTOR = f'{TP4}  File "{SITE}/v1/attention/selector.py", line 98, in _cached_get_attn_backend'
STARTUP = f'{API}  File "{SITE}/v1/engine/utils.py", line 1088, in wait_for_engine_startup'
WRAPPER = f"{API}RuntimeError: Engine core initialization failed. See root cause above."
REAL = f"{TP4}ValueError: the tape is torn"
LOADED = "(APIServer pid=7) INFO 02-20 21:36:49 [core.py:1] Starting to load model x"


def said(*lines: str) -> Diagnosis:
    text = "".join(f"{line}\n" for line in lines).encode()
    return diagnose_log([text], grammar=GRAMMAR, known=Known(), patches=())


def asked_for(found: Diagnosis) -> str:
    assert found.remedy is not None and not found.remedy.automatic and not found.remedy.actions
    (advice,) = found.remedy.advice
    return advice.split("\n")[1]


@pytest.mark.parametrize(
    "lines",
    [
        (f"{TP4}           ^^^^^^^^", SELECTOR, f"{TP4}    attention_cls = current_platform.get("),
        (SELECTOR,),
        (f"{TP4}Traceback (most recent call last):", SELECTOR, f"{TP4}    ^^^^"),
        (*[f"(Worker_TP{rank} pid=9) INFO 02-20 21:35:49 [x.py:7] talk" for rank in range(9)], SELECTOR),
    ],
)
def test_frames_alone_say_where_it_failed_and_which_line_is_missing(lines: tuple[str, ...]) -> None:
    found = said(*lines)
    assert found.verdict == "unknown_fault"
    root = found.root_cause
    assert root is not None and root.missing
    assert "choosing an attention backend, in _cached_get_attn_backend" in root.text
    assert "(vllm/v1/attention/selector.py:98)" in root.text
    assert (root.process, root.exception, lines[root.line - 1]) == ("Worker_TP4", None, SELECTOR)
    assert asked_for(found) == "grep -nE 'Worker_TP4.*(Error|Exception)' *.log"


def test_of_frames_that_nobody_knows_the_place_is_told() -> None:
    root = said('  File "/srv/own/thing.py", line 3, in spin').root_cause
    assert root is not None
    assert root.text == "a traceback cut off before its exception: in spin (/srv/own/thing.py:3)"


def test_a_first_line_alone_is_a_failure_too() -> None:
    found = said(f"{API}Traceback (most recent call last):")
    assert found.verdict == "unknown_fault"
    assert asked_for(found) == "grep -nE 'APIServer.*(Error|Exception)' *.log"


def test_what_waits_or_wraps_leads_to_those_that_are_waited_for() -> None:
    of_children = "grep -nE '(Engine|Worker|Vllm|Ray).*(Error|Exception)' *.log"
    assert asked_for(said(f"{API}Traceback (most recent call last):", STARTUP)) == of_children
    wrapped = said(f"{API}Traceback (most recent call last):", STARTUP, WRAPPER)
    assert asked_for(wrapped) == of_children


def test_a_name_out_of_a_log_never_becomes_a_command() -> None:
    found = said(SELECTOR.replace("Worker_TP4", "Worker'; rm -rf ~; '"))
    assert asked_for(found) == "grep -nE '[A-Za-z](Error|Exception)' *.log"


@pytest.mark.parametrize("others", [(REAL.replace("TP4", "TP5"),), (WRAPPER,)])
def test_frames_alone_count_less_than_a_reason_and_more_than_a_wrapper(others: tuple[str, ...]) -> None:
    head = others[0].split(") ")[0] + ") "
    whole = [f"{head}Traceback (most recent call last):", f'{head}  File "/a.py", line 1, in f', *others]
    if others[0] is not WRAPPER:
        mark = others[0][: others[0].index("] ") + 2]
        whole = [
            f"{mark}Traceback (most recent call last):",
            f'{mark}  File "/a.py", line 1, in f',
            others[0],
        ]
    root = said(SELECTOR, *whole).root_cause
    assert root is not None
    assert ("tape" in root.text) == (others[0] is not WRAPPER)
    assert root.missing == (others[0] is WRAPPER)


def test_what_the_launch_went_on_after_is_no_failure() -> None:
    assert said(SELECTOR, LOADED).verdict == "starting"
    assert said(SELECTOR.replace("ERROR", "WARNING")).verdict == "starting"


def test_a_traceback_that_is_still_being_written_is_not_judged() -> None:
    live = Live(Known(), (), GRAMMAR)
    live.feed(f"{LOADED}\n{SELECTOR}\n".encode())
    assert [live.now(seconds).verdict for seconds in (0.1, 60.0)] == ["starting", "unknown_fault"]
    live.feed(f"{REAL}\n".encode())
    root = live.now(0.1).root_cause
    assert root is not None and root.text == "ValueError: the tape is torn"
