"""An exception's own line, a traceback's heading and a program's usage tell a failure without what belongs to them."""

from __future__ import annotations

from orchestrator.diagnosis.engine import diagnose_log
from orchestrator.diagnosis.verdict import Diagnosis
from orchestrator.engines.vllm.log.grammar import GRAMMAR
from orchestrator.patches.known import Known
from tests.diagnosis import labels
from tests.diagnosis.test_cases import PATCHES

TALK = "(APIServer pid=7) INFO 02-20 21:34:40 [api_server.py:1] vLLM API server version 0.16.0"
GOES_ON = "(EngineCore pid=9) INFO 02-20 21:37:49 [core.py:1] Loading weights took 31 seconds"
UP = "(APIServer pid=7) INFO:     Application startup complete."
RAISED = "(EngineCore pid=9) pkg.TapeError: the tape is torn"
WRAPPER = "(APIServer pid=7) RuntimeError: Engine core initialization failed. See root cause above."
BROKEN = "(EngineCore pid=9) ERROR 02-20 21:37:01 [core.py:7] EngineCore failed to start."
HANDLING = "(EngineCore pid=9) During handling of the above exception, another exception occurred:"
DIRECT = "(EngineCore pid=9) The above exception was the direct cause of the following exception:"
LATER = "(EngineCore pid=9) OSError: no tape"


def said(*lines: str) -> Diagnosis:
    text = "".join(f"{line}\n" for line in lines).encode()
    return diagnose_log([text], grammar=GRAMMAR, known=Known(), patches=PATCHES)


def cause(*lines: str) -> tuple[str, str | None]:
    found = said(*lines)
    assert found.root_cause is not None and found.verdict == "unknown_fault"
    return found.root_cause.text, found.root_cause.exception


def test_an_exception_without_its_traceback() -> None:
    assert cause(RAISED) == ("pkg.TapeError: the tape is torn", "TapeError")
    assert cause(TALK, WRAPPER, RAISED, "--", LATER)[0] == "pkg.TapeError: the tape is torn"
    assert cause(TALK, RAISED, HANDLING, LATER)[0] == "OSError: no tape"
    assert cause(TALK, RAISED, DIRECT, LATER)[0] == "pkg.TapeError: the tape is torn"


def test_what_a_search_for_errors_leaves_of_a_log_is_recognised_as_the_log_is() -> None:
    log = labels.log(labels.named("mla-fp8kv-kimi-k25-tp8"))
    kept = b"\n".join(line for line in log.split(b"\n") if b"ValueError: " in line)
    finding = diagnose_log([kept], grammar=GRAMMAR, known=Known(compute_cap="12.0"), patches=PATCHES).finding
    assert finding is not None and finding.patch == "fp8-kv-mla"


def test_what_the_launch_survived_or_a_client_may_have_printed_is_none() -> None:
    assert said(TALK, RAISED, GOES_ON).verdict == "starting"
    assert said(TALK, UP, RAISED).verdict == "healthy"
    assert (
        said(TALK, "(EngineCore pid=9) WARNING 02-20 21:37:01 [x.py:7] ValueError: odd").verdict == "starting"
    )
    assert said(TALK, "Warning: odd", "Note: odd", "Loading: 3").verdict == "starting"


def test_a_heading_whose_traceback_is_missing() -> None:
    found = said(TALK, BROKEN)
    assert (found.verdict, found.remedy is not None) == ("unknown_fault", True)
    assert cause(TALK, BROKEN, RAISED)[0] == "pkg.TapeError: the tape is torn"


def test_usage_without_what_was_wrong() -> None:
    usage = ("usage: vllm serve [model_tag] [options]", "    [--stream-interval N]")
    found = said(TALK, *usage)
    assert found.verdict == "unknown_fault"
    assert found.remedy is not None and "grep -nE 'error: '" in found.remedy.advice[0]
    assert said(TALK, *usage, "vllm serve: error: unrecognized arguments: --x").verdict == "fault"
