"""A launch log on a terminal: coloured, folded, and unable to steer it."""

from __future__ import annotations

from orchestrator.engines.vllm.log.grammar import GRAMMAR
from orchestrator.report.layout import StyledLine, plain
from orchestrator.report.log_lines import HOLD_SECONDS, LogLines
from tests.report.replay import Clock


def record(rank: int, text: str, level: str = "ERROR") -> bytes:
    return f"(Worker_TP{rank} pid={100 + rank}) {level} 07-25 10:00:0{rank} [cuda.py:71] {text}\n".encode()


def texts(lines: list[StyledLine]) -> list[str]:
    return [plain(line) for line in lines]


def test_what_ranks_repeat_is_told_once_in_the_place_of_the_first() -> None:
    log = LogLines(GRAMMAR)
    log.take(b"".join(record(rank, text) for rank in (4, 0, 1, 2) for text in ("failed", "why")))
    assert texts(log.end()) == [
        "Worker_TP4 ERROR 07-25 10:00:04 cuda.py:71 failed  same in 4",
        "Worker_TP4 ERROR 07-25 10:00:04 cuda.py:71 why  same in 4",
    ]


def test_what_differs_stays() -> None:
    log = LogLines(GRAMMAR)
    log.take(record(0, "rank 0") + record(1, "rank 1") + record(0, "rank 0") + record(1, "rank 0", "INFO"))
    core = b"(EngineCore_DP0 pid=7) ERROR 07-25 10:00:00 [core.py:1] rank 0\nplain\nplain\n"
    log.take(core)
    shown = texts(log.end())
    assert len(shown) == 7
    assert not any("same in" in line for line in shown)
    assert shown[-2:] == ["plain", "plain"]


def test_a_line_is_let_go_after_a_moment_and_not_before() -> None:
    clock = Clock()
    log = LogLines(GRAMMAR, clock)
    assert log.take(record(0, "loading")) == []
    clock.now += HOLD_SECONDS / 2
    assert log.due() == []
    log.take(record(1, "loading"))
    clock.now += HOLD_SECONDS
    (line,) = texts(log.due())
    assert line.endswith("loading  same in 2")
    log.take(record(2, "loading"))
    assert len(log.end()) == 1


def test_chunks_may_end_anywhere() -> None:
    log = LogLines(GRAMMAR)
    whole = record(0, "first") + record(0, "last").rstrip(b"\n")
    shown = [line for at in range(len(whole)) for line in log.take(whole[at : at + 1])]
    assert [line.split()[-1] for line in texts([*shown, *log.end()])] == ["first", "last"]


def test_levels_have_roles() -> None:
    log = LogLines(GRAMMAR)
    log.take(record(0, "bad") + record(0, "odd", "WARNING") + record(0, "fine", "INFO"))
    roles = [{role for text, role in line if text.strip()} for line in log.end()]
    assert roles == [{"busy", "bad", "dim"}, {"busy", "warn", "dim"}, {"busy", "dim", ""}]


def test_a_log_cannot_steer_the_terminal() -> None:
    log = LogLines(GRAMMAR)
    log.take(b"\x1b[2Ja\x1b]0;t\x07b\x00\x08c\x1b[31m\xff\n" + record(0, "\x1b[?1049hd"))
    for line in texts(log.end()):
        assert all(character.isprintable() for character in line), repr(line)


def test_much_at_once_is_not_held_for_ever() -> None:
    log = LogLines(GRAMMAR)
    shown = log.take(b"".join(b"line %d\n" % number for number in range(5000)))
    assert len(shown) == 3000
    assert len(log.end()) == 2000
