"""What was done on hosts that serve one model together, as one story."""

from __future__ import annotations

from typing import Any

from orchestrator.programs.journal import JournalRecord, read
from orchestrator.report.histories import table
from orchestrator.report.layout import plain


def journal(*records: tuple[int, dict[str, Any]]) -> list[JournalRecord]:
    """Records with the second of an hour in which each was written."""
    return [
        read({"at": f"2026-12-01T00:{at // 60:02}:{at % 60:02}+00:00", "machine": "m", **record})
        for at, record in records
    ]


def launch(number: int) -> dict[str, Any]:
    return {"action": "launch", "launch": number}


def end(number: int, result: str = "healthy", **more: Any) -> dict[str, Any]:
    return {"action": "outcome", "launch": number, "result": result, **more}


def stop(ended: int) -> dict[str, Any]:
    return {"action": "stop", "by_person": True, "ended": [1] * ended, "shm_removed": []}


def rows(**journals: list[JournalRecord]) -> list[str]:
    _, *lines = table(journals, 100)
    assert all(len(plain(line)) <= 100 for line in lines)
    return [
        " ".join(plain(line).split()[1:]) if plain(line)[0] != " " else plain(line).strip() for line in lines
    ]


def test_what_all_did_is_one_row_and_what_differs_names_its_host() -> None:
    alpha = journal((0, launch(1)), (9, end(1, context=4096)), (70, stop(9)))
    beta = journal((1, launch(1)), (11, end(1)), (82, stop(4)))
    assert rows(alpha=alpha, beta=beta) == [
        "00:00:00 launch 1 started",
        "00:00:09 launch 1 healthy, context 4096",
        "00:01:10 stop alpha: 9 processes ended, 0 shared-memory files removed",
        "beta: 4 processes ended, 0 shared-memory files removed",
    ]


def test_what_a_peer_said_of_the_same_failure_stands_beside_it() -> None:
    alpha = journal((0, launch(1)), (5, end(1, "failed", cause="ConnectionError: closed by peer")))
    beta = journal(
        (0, launch(1)), (4, end(1, "failed", cause="ValueError: no backend", finding="fp8-kv-mla"))
    )
    assert rows(alpha=alpha, beta=beta)[1:] == [
        "00:00:04 launch 1 beta: failed (fp8-kv-mla): ValueError: no backend",
        "alpha: failed: ConnectionError: closed by peer",
    ]


def test_a_host_that_was_used_alone_before_counts_its_launches_otherwise() -> None:
    alpha = journal((600, launch(1)), (610, end(1)))
    beta = journal((0, launch(1)), (9, end(1)), (600, launch(2)), (610, end(2)))
    assert rows(alpha=alpha, beta=beta) == [
        "00:00:00 launch 1 beta: started",
        "00:00:09 launch 1 beta: healthy",
        "00:10:00 launch 1 alpha: started",
        "beta: its launch 2: started",
        "00:10:10 launch 1 alpha: healthy",
        "beta: its launch 2: healthy",
    ]


def test_what_lies_far_apart_was_not_done_together() -> None:
    alpha = journal((0, launch(1)), (1200, stop(3)))
    beta = journal((0, launch(1)))
    assert rows(alpha=alpha, beta=beta)[1:] == [
        "00:20:00 stop alpha: 3 processes ended, 0 shared-memory files removed"
    ]


def test_each_host_keeps_its_own_order() -> None:
    """A clock that is late moves no record before what the host did earlier."""
    alpha = journal((0, launch(1)), (10, stop(1)), (20, launch(2)), (30, stop(1)))
    beta = journal((3, launch(1)), (13, stop(1)), (23, launch(2)), (33, stop(1)))
    assert [row.split(maxsplit=1)[1] for row in rows(alpha=alpha, beta=beta)] == [
        "launch 1 started",
        "stop 1 process ended, 0 shared-memory files removed",
        "launch 2 started",
        "stop 1 process ended, 0 shared-memory files removed",
    ]
