"""Which patch recognises a failure, by what of it, and with which of its words."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.diagnosis.engine import Diagnosis, diagnose_log
from orchestrator.engines.vllm.log.grammar import GRAMMAR
from orchestrator.patches.known import Known
from orchestrator.patches.patch import Patch

START = "INFO 02-20 21:35:07 [api_server.py:3] vLLM API server version 0.16.0\n"
RAISED = 'Traceback (most recent call last):\n  File "/x/vllm/{file}", line 3, in f\n{text}\n'


def patch(name: str, match: Any, **more: Any) -> Patch:
    matches = match if isinstance(match, list) else [match]
    given = {"id": name, "title": f"of {name}", "category": "other", "match": matches, **more}
    return Patch.model_validate(given)


def worker(text: str, process: str = "Worker_TP0 pid=7") -> str:
    """What a worker says of an exception of its own, each line with its header."""
    header = f"({process}) ERROR 02-20 21:36:07 [multiproc_executor.py:783] "
    raised = RAISED.format(file="worker.py", text=text)
    return "".join(header + line + "\n" for line in ("WorkerProc failed to start.", *raised.splitlines()))


def found(log: str, *patches: Patch, **known: Any) -> Diagnosis:
    return diagnose_log([(START + log).encode()], grammar=GRAMMAR, known=Known(**known), patches=patches)


def by(log: str, *patches: Patch, **known: Any) -> str | None:
    finding = found(log, *patches, **known).finding
    return finding.patch if finding else None


BAD = worker("ValueError: no room for 12 blocks")


@pytest.mark.parametrize(
    "match",
    [
        {"exception": "ValueError"},
        {"exception": "Value*"},
        {"text": "no   room"},
        {"text": ["no room", "blocks"]},
        {"pattern": r"for \d+ blocks"},
        {"text": "no room", "not_text": "plenty"},
        {"exception": "ValueError", "process": "Worker_TP*"},
        {"exception": "ValueError", "frames": "*/vllm/worker.py"},
        {"exception": "ValueError", "vllm": ">=0.16"},
        {"exception": "ValueError", "gpus": "==8"},
        {"exception": "ValueError", "compute_cap": "12.*"},
        {"exception": "ValueError", "log": "API server version"},
        {"exception": "ValueError", "not_log": "never said"},
        {"line": "API server version", "text": "no room"},
    ],
)
def test_all_that_is_asked_holds(match: dict[str, Any]) -> None:
    assert by(BAD, patch("mine", match), gpus=8, compute_cap="12.0") == "mine"


@pytest.mark.parametrize(
    "match",
    [
        {"exception": "KeyError"},
        {"exception": "Error"},
        {"exception": "ValueError", "text": "NO ROOM"},
        {"text": ["no room", "plenty"]},
        {"pattern": r"for \d+ pages"},
        {"text": "no room", "not_text": "for 12"},
        {"exception": "ValueError", "process": "EngineCore*"},
        {"exception": "ValueError", "frames": ["*/vllm/worker.py", "*/vllm/other.py"]},
        {"exception": "ValueError", "vllm": "<0.16"},
        {"exception": "ValueError", "gpus": "==4"},
        {"exception": "ValueError", "compute_cap": "9.0"},
        {"exception": "ValueError", "log": "never said"},
        {"exception": "ValueError", "not_log": "API server version"},
        {"exception": "ValueError", "phase": "capturing graphs"},
        {"line": "never said", "text": "no room"},
        {"exception": "ValueError", "reasons": {"TRITON_MLA": ["x"]}},
        {"exception": "ValueError", "during": "hang"},
        {"exception": "ValueError", "during": "request"},
    ],
)
def test_one_thing_that_does_not_hold_is_enough(match: dict[str, Any]) -> None:
    diagnosis = found(BAD, patch("mine", match), gpus=8, compute_cap="12.0")
    assert (diagnosis.finding, diagnosis.verdict) == (None, "unknown_fault")


def test_the_patch_that_asks_for_most_is_taken_whatever_the_order() -> None:
    general, special = (
        patch("general", {"exception": "ValueError"}),
        patch("special", {"exception": "ValueError", "text": "no room"}),
    )
    assert by(BAD, general, special) == by(BAD, special, general) == "special"


def test_alternatives_of_one_question_count_as_one() -> None:
    wide = patch("wide", {"exception": "ValueError", "compute_cap": ["9.0", "10.0", "12.0"]})
    deep = patch("deep", {"exception": "ValueError", "text": ["no room", "blocks"]})
    assert by(BAD, wide, deep, compute_cap="12.0") == "deep"


def test_what_a_patch_must_not_see_is_no_reason_to_take_it() -> None:
    careful = patch(
        "careful", {"exception": "ValueError", "not_text": ["a", "plenty"][1:], "not_log": "never said"}
    )
    plain = patch("plain", {"exception": "ValueError", "text": "no room"})
    assert by(BAD, careful, plain) == "plain"


def test_of_two_that_ask_as_much_the_first_is_taken() -> None:
    first, second = patch("first", {"text": "no room"}), patch("second", {"text": "blocks"})
    assert by(BAD, first, second) == "first"
    assert by(BAD, second, first) == "second"


def test_a_patch_steps_back_where_a_special_one_stands_instead_of_it() -> None:
    general = patch("general", {"exception": "ValueError", "text": ["no room", "blocks"]})
    special = patch("special", {"text": "no room"}, instead_of=["general"])
    assert by(BAD, general, special) == "special"


def test_a_line_alone_explains_no_exception_away_that_says_something_itself() -> None:
    remark = "(Worker_TP0 pid=7) WARNING 02-20 21:35:30 [pynccl.py:7] NCCL is older than it should be\n"
    alone = patch("alone", {"line": "NCCL is older than"})
    with_it = patch("with-it", {"line": "NCCL is older than", "exception": "ValueError"})
    assert by(remark + BAD, alone) is None
    assert by(remark + BAD, alone, with_it) == "with-it"


WRAPPED = worker("RuntimeError: Engine core initialization failed. See root cause above.")


def test_a_line_explains_what_only_follows_and_is_then_the_cause() -> None:
    remark = "(Worker_TP3 pid=9) WARNING 02-20 21:35:30 [pynccl.py:7] NCCL is older than (2.20)\n"
    mine = patch("mine", {"line": r"NCCL is older than \((?P<had>[\d.]{1,20})\)"})
    diagnosis = found(remark + WRAPPED, mine)
    assert diagnosis.finding is not None
    assert diagnosis.root_cause is not None
    cause = diagnosis.root_cause
    assert (cause.text, cause.line, cause.process) == ("NCCL is older than (2.20)", 2, "Worker_TP3")
    assert (cause.exception, diagnosis.verdict) == (None, "fault")


def test_what_says_the_same_in_other_words_stands_beside_a_line_where_it_proves_it_too() -> None:
    remark = "(Worker_TP0 pid=7) WARNING 02-20 21:35:30 [pynccl.py:7] NCCL is older than it should be\n"
    both = {"line": "NCCL is older than.*", "text": "no room"}

    def words(*ways: Any, log: str = remark + BAD) -> list[str]:
        cause = found(log, patch("mine", [both, *ways])).root_cause
        return cause.text.split("\n") if cause else []

    assert words() == ["NCCL is older than it should be"]
    assert words({"text": "no room"}) == [
        "NCCL is older than it should be",
        "ValueError: no room for 12 blocks",
    ]
    assert words({"text": "no room", "confidence": "likely"}) == words()
    later = remark + remark.replace("NCCL is older than it should be", "the library is too old")
    too = {"line": "the library is too old", "text": "no room"}
    assert words(too, log=later + BAD) == ["NCCL is older than it should be", "the library is too old"]


def test_a_status_of_another_program_is_not_shown_where_more_is_known() -> None:
    status = (
        "subprocess.CalledProcessError: Command '['ninja', 'rope_type']' returned non-zero exit status 1."
    )
    mine = patch("mine", {"text": "rope_type"})
    cause = found(CHAIN.replace("KeyError: 'rope_type'", status), mine).root_cause
    assert cause is not None
    assert cause.exception == "ValueError"


@pytest.mark.parametrize(("between", "explained"), [(40, True), (60, False)])
def test_a_line_may_come_a_little_later_than_what_it_explains(between: int, explained: bool) -> None:
    other = "(Worker_TP1 pid=8) INFO 02-20 21:36:30 [a.py:7] something else\n" * between
    remark = "(Worker_TP3 pid=9) WARNING 02-20 21:36:31 [pynccl.py:7] NCCL is older than it should be\n"
    mine = patch("mine", {"line": "NCCL is older than"})
    assert (by(WRAPPED + other + remark, mine) == "mine") is explained


def test_a_crash_is_recognised_by_its_own_line() -> None:
    crash = "Fatal Python error: Segmentation fault\n\n"
    remark = "(Worker_TP0 pid=7) WARNING 02-20 21:35:30 [pynccl.py:7] NCCL is older than it should be\n"
    itself = patch("itself", {"line": "Fatal Python error: Segmentation"})
    other = patch("other", {"line": "NCCL is older than"})
    assert by(remark + crash, other, itself) == "itself"
    assert by(remark + crash, other) is None


def test_groups_of_a_line_and_of_the_exception_fill_the_remedy() -> None:
    match = {
        "line": r"room for (?P<room>\d{1,9}) blocks is there",
        "pattern": r"for (?P<need>\d{1,9}) blocks",
    }
    values = {"kind": "flag", "name": "--num-gpu-blocks-override", "op": "set", "formula": "min(room, need)"}
    remark = "(Worker_TP0 pid=7) INFO 02-20 21:35:30 [a.py:7] room for 9 blocks is there\n"
    diagnosis = found(remark + BAD, patch("mine", match, remedy=[values]))
    assert diagnosis.remedy is not None
    assert [action.value for action in diagnosis.remedy.actions] == ["9"]


def test_groups_of_what_is_found_in_the_log_fill_the_remedy_by_the_line_nearest_before_the_end() -> None:
    match = {"text": "no room", "log": r"room for (?P<room>\d{1,9}) blocks is there"}
    values = {"kind": "flag", "name": "--num-gpu-blocks-override", "op": "set", "value": "{room}"}
    remark = "(Worker_TP0 pid=7) INFO 02-20 21:35:30 [a.py:7] room for {} blocks is there\n"
    log = remark.format(5) + remark.format(9) + BAD + remark.format(2)
    diagnosis = found(log, patch("mine", match, remedy=[values]))
    assert diagnosis.remedy is not None
    assert [action.value for action in diagnosis.remedy.actions] == ["9"]


CHAIN = (
    "Traceback (most recent call last):\n"
    '  File "/x/vllm/a.py", line 3, in f\n'
    "KeyError: 'rope_type'\n"
    "\n"
    "The above exception was the direct cause of the following exception:\n"
    "\n"
    "Traceback (most recent call last):\n"
    '  File "/x/vllm/b.py", line 4, in <module>\n'
    "ValueError: the configuration lacks rope_type\n"
)


def test_a_patch_that_fits_several_exceptions_of_a_chain_is_shown_by_the_first() -> None:
    mine = patch("mine", [{"text": "rope_type"}, {"exception": "ValueError", "text": "lacks"}])
    diagnosis = found(CHAIN, mine)
    assert diagnosis.root_cause is not None
    assert diagnosis.root_cause.exception == "KeyError"


def test_a_confidence_is_that_of_what_recognised_it() -> None:
    mine = patch("mine", {"exception": "ValueError", "confidence": "likely"})
    diagnosis = found(BAD, mine)
    assert diagnosis.finding is not None
    assert (diagnosis.finding.confidence, diagnosis.finding.title) == ("likely", "of mine")


def test_a_phase_alone_recognises_a_launch_that_stands_still() -> None:
    mine = patch("mine", {"during": "hang", "phase": ["starting", "configuring"]})
    diagnosis = found("", mine, idle_seconds=100_000)
    assert (diagnosis.verdict, by("", mine, idle_seconds=100_000)) == ("hang", "mine")
    other = patch("other", {"during": "hang", "phase": "capturing graphs"})
    assert by("", other, idle_seconds=100_000) is None
