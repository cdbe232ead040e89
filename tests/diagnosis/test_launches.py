"""Which launch of a log is the last, and what counts as having happened in it."""

from __future__ import annotations

from orchestrator.diagnosis.following import Following, last_launch
from orchestrator.diagnosis.launches import LaunchLog
from orchestrator.diagnosis.lines import cut, read
from orchestrator.diagnosis.remarks import Watched
from orchestrator.engines.vllm.log.grammar import GRAMMAR

START = "INFO 02-20 21:35:07 [api_server.py:3] vLLM API server version 0.16.0\n"
ENGINE = "(EngineCore_DP0 pid=8) INFO 02-20 21:35:09 [core.py:93] Initializing a V1 LLM engine (v0.16.0) with config: x\n"
WEIGHTS = "(Worker_TP0 pid=7) INFO 02-20 21:35:30 [gpu_model_runner.py:3] Starting to load model x\n"
RANK = "(Worker_TP{rank} pid={pid}) ERROR 02-20 21:36:07 [multiproc_executor.py:783] "


def failed(rank: int = 0, text: str = "ValueError: x") -> str:
    header = RANK.format(rank=rank, pid=rank + 7)
    said = (
        "WorkerProc failed to start.",
        "Traceback (most recent call last):",
        '  File "/x/a.py", line 3, in f',
        text,
    )
    return "".join(f"{header}{line}\n" for line in said)


def launch(log: str) -> LaunchLog:
    return last_launch(read(cut([log.encode()]), GRAMMAR), GRAMMAR)


def causes(log: str) -> list[str]:
    return [folded.incident.root.text for folded in launch(log).incidents]


def test_what_failed_before_the_last_start_is_forgotten() -> None:
    assert causes(START + failed(text="ValueError: first") + START + failed(text="ValueError: second")) == [
        "ValueError: second"
    ]
    assert causes(START + failed(text="ValueError: first") + START) == []


def test_a_second_engine_after_no_failure_is_of_the_same_launch() -> None:
    assert causes(START + ENGINE + failed() + WEIGHTS) == ["ValueError: x"]


def test_ranks_that_say_the_same_are_one_with_their_names_and_all_their_lines() -> None:
    log = START + failed(0) + failed(1) + failed(0)
    (folded,) = launch(log).incidents
    assert folded.processes == ["Worker_TP0", "Worker_TP1"]
    assert (folded.lines, folded.incident.lines, folded.incident.first_line) == (9, 3, 3)


def test_ranks_that_differ_in_numbers_alone_say_the_same() -> None:
    log = (
        START
        + failed(0, "ValueError: 12 of 0xdead at rank 0")
        + failed(1, "ValueError: 13 of 0xbeef at rank 1")
    )
    assert len(launch(log).incidents) == 1
    assert len(launch(START + failed(0, "ValueError: a") + failed(1, "ValueError: b")).incidents) == 2
    assert len(launch(START + failed(0, "ValueError: a") + failed(1, "KeyError: a")).incidents) == 2


def test_of_very_many_failures_the_first_and_the_last_are_kept() -> None:
    names = [f"{chr(97 + at // 26)}{chr(97 + at % 26)}" for at in range(300)]
    texts = causes(START + "".join(failed(text=f"ValueError: {name}") for name in names))
    assert len(texts) == 200
    assert texts[:100] == [f"ValueError: {name}" for name in names[:100]]
    assert texts[-99:] == [f"ValueError: {name}" for name in names[-99:]]


def test_one_that_was_dropped_is_told_anew_when_it_comes_again() -> None:
    names = [f"{chr(97 + at // 26)}{chr(97 + at % 26)}" for at in range(300)]
    log = START + "".join(failed(text=f"ValueError: {name}") for name in [*names, names[100]])
    assert causes(log)[-1] == f"ValueError: {names[100]}"


def test_how_far_a_launch_went_after_a_failure() -> None:
    on = launch(START + failed() + WEIGHTS)
    assert on.went_on_after(on.incidents[0].incident)
    over = launch(START + WEIGHTS + failed())
    assert not over.went_on_after(over.incidents[0].incident)


def test_whether_anything_failed_and_where_it_ended() -> None:
    log = START + failed() + WEIGHTS
    assert launch(log).failed_once
    assert launch(log).last_incident == 5
    assert not launch(START + WEIGHTS).failed_once
    assert launch(START + WEIGHTS).last_incident == 0


def test_the_last_lines_are_kept_and_no_more() -> None:
    tail = launch(START + "x\n" * 10_000 + "end\n").tail
    assert tail[-1].message == "end"
    assert len(tail) < 2000


def test_a_line_that_a_patch_looks_for_is_told_unless_nothing_may_be_told() -> None:
    lines = list(read(cut([(START + "NCCL WARN x\n" + WEIGHTS).encode()]), GRAMMAR))
    following = Following(GRAMMAR, Watched(["NCCL WARN"]))
    assert [following.feed(line) for line in lines] == [False, True, False]
    following = Following(GRAMMAR, Watched(["NCCL WARN"]))
    assert not any(following.feed(line, ()) for line in lines)


def test_looking_at_a_launch_changes_nothing_of_it() -> None:
    following = Following(GRAMMAR)
    lines = list(read(cut([(START + failed(0) + failed(1)).encode()]), GRAMMAR))
    for line in lines[:-1]:
        following.feed(line)
    before = following.so_far()
    assert [folded.processes for folded in before.incidents] == [["Worker_TP0"]]
    following.feed(lines[-1])
    after = following.so_far()
    assert [(folded.processes, folded.lines) for folded in before.incidents] == [(["Worker_TP0"], 3)]
    assert [folded.lines for folded in after.incidents] == [6]
