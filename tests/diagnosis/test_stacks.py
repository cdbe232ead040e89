"""Stacks that were dumped into a log, or into files of their own."""

from __future__ import annotations

import pytest

from orchestrator.diagnosis.incident import Frame
from orchestrator.diagnosis.lines import parse
from orchestrator.diagnosis.stacks import Stack, Stacks, of_files, stuck
from orchestrator.engines.vllm.log.dumps import DUMPS
from orchestrator.engines.vllm.log.grammar import GRAMMAR

MAIN = """\
Thread 0x00007f14ee89c740 (most recent call first):
  File "/opt/torch/distributed/distributed_c10d.py", line 2810 in all_reduce
  File "<string>", line 1 in <module>
"""
OTHER = """\
Current thread 0x00007f11aa7fc6c0 (most recent call first):
  File "/usr/lib/python3.12/threading.py", line 359 in wait
  File "/usr/lib/python3.12/threading.py", line 1012 in _bootstrap
"""
SPIED = """\
Process 301: VLLM::Worker_TP1
Python v3.12.3 (/usr/bin/python3.12)

Thread 301 (idle): "MainThread"
    ncclGroupEnd (libnccl.so.2)
    all_reduce (torch/distributed/distributed_c10d.py:2810)
        Arguments:
            tensor: <Tensor at 0x7f>
    <module> (vllm:8)
Thread 412 (active): "WorkerAsyncOutputCopy"
    get (queue.py:171)
    _bootstrap (threading.py:1030)
"""
ALL_REDUCE = Frame("/opt/torch/distributed/distributed_c10d.py", 2810, "all_reduce")


def dump(number: int, why: str = "feed timeout") -> str:
    return f"\n>>> Call stack dump #{number} at Sat Nov 28 10:07:10 2026 due to {why}\n\n"


def read(text: str) -> tuple[Stack, ...]:
    stacks = Stacks(DUMPS)
    for number, line in enumerate(text.split("\n"), 1):
        stacks.feed(parse(line.encode(), number, GRAMMAR))
    return stacks.read


@pytest.mark.parametrize("text", [OTHER + "\n" + MAIN, MAIN + "\n" + OTHER], ids=["last", "first"])
def test_the_main_thread_counts_wherever_it_stands(text: str) -> None:
    (stack,) = read(text)
    assert stack.frames[0] == ALL_REDUCE
    assert (stack.process, stack.pid) == (None, None)


def test_py_spy_names_the_process_and_frames_that_are_no_pythons() -> None:
    (stack,) = read(SPIED)
    assert (stack.process, stack.pid, stack.line) == ("VLLM::Worker_TP1", 301, 4)
    assert stack.frames == (
        Frame("libnccl.so.2", 0, "ncclGroupEnd"),
        Frame("torch/distributed/distributed_c10d.py", 2810, "all_reduce"),
        Frame("vllm", 8, "<module>"),
    )


def test_a_file_of_the_watchdog_says_whose_it_is_and_its_last_dump_counts() -> None:
    name = "VLLM_STACK_DUMP_for_worker_0_300.log"
    earlier = dump(1) + MAIN.replace("all_reduce", "broadcast")
    (stack,) = of_files([(name, (earlier + dump(2) + OTHER + "\n" + MAIN))], DUMPS)
    assert (stack.process, stack.pid, stack.line, stack.why) == ("worker_0", 300, 0, "feed timeout")
    assert stack.frames[0] == ALL_REDUCE


def test_what_was_dumped_because_it_was_told_to_stop_is_no_stand() -> None:
    files = [(f"VLLM_STACK_DUMP_for_worker_{rank}_1.log", dump(1, why) + MAIN) for rank, why in enumerate(("SIGTERM", "feed timeout"))]  # fmt: skip
    assert [stack.process for stack in stuck(of_files(files, DUMPS), DUMPS)] == ["worker_1"]


def test_being_told_to_stop_takes_nothing_back_from_where_it_stood() -> None:
    told = dump(2, "shutdown") + OTHER + "\n" + MAIN.replace("all_reduce", "handle_failure")
    (stack,) = of_files([("VLLM_STACK_DUMP_for_worker_0_1.log", dump(1) + MAIN + told)], DUMPS)
    assert (stack.why, stack.frames[0]) == ("feed timeout", ALL_REDUCE)


def test_where_a_process_died_is_no_stand() -> None:
    assert read(f"Fatal Python error: Segmentation fault\n\n{OTHER}\n{MAIN}") == ()


def test_names_before_output_part_the_dumps_of_several_processes() -> None:
    lines = [f"(Worker_TP{rank} pid={rank}) {line}" for line in MAIN.splitlines() for rank in (0, 1)]
    assert [(stack.process, len(stack.frames)) for stack in read("\n".join(lines))] == [
        ("Worker_TP0", 2),
        ("Worker_TP1", 2),
    ]


def test_a_dump_is_open_until_something_else_was_said_for_long() -> None:
    stacks = Stacks(DUMPS)
    for number, line in enumerate(MAIN.splitlines(), 1):
        assert stacks.feed(parse(line.encode(), number, GRAMMAR))
    assert not stacks.settled(4)
    assert not stacks.feed(parse(b"INFO 11-28 10:00:00 [a.py:1] x", 4, GRAMMAR))
    assert stacks.settled(60)
