"""What is told of a stop."""

from __future__ import annotations

from typing import Any

from orchestrator.launch.server import ended
from orchestrator.on_host.removing.shared_memory import LIVES
from orchestrator.programs.stop import Stopped

ANSWER: dict[str, Any] = {
    "launch": 1,
    "killed": 0,
    "exit_code": 0,
    "gpu": None,
    "seconds": 1.5,
    "ended": [{"pid": 7, "name": "sh"}, {"pid": 8, "name": "python3"}],
    "left": [],
    "shm_removed": [{"name": "psm_1", "bytes": 3 << 20}],
    "shm_kept": [{"name": "psm_0", "bytes": 1, "reason": "older than the launch", "doubtful": False}],
}


def told(**more: Any) -> str:
    return ended(Stopped.model_validate({**ANSWER, **more}))


def test_what_was_ended() -> None:
    assert told() == "2 processes ended, 1 shared-memory files removed (3 MiB)"


def test_what_may_be_somebody_elses_is_named_with_what_to_type() -> None:
    doubtful = {"name": "psm_2", "bytes": 1, "reason": "may be of pid 9 (python3)", "doubtful": True}
    words = told(left=[{"pid": 9, "name": "tee"}], shm_kept=[doubtful])
    assert "; pid 9 (tee) writes into the log, is not known to be of the launch, and lives on" in words
    assert words.endswith("; 1 file stays, may be of pid 9 (python3); if not: cd /dev/shm && rm psm_2")


def test_nobody_is_led_to_remove_what_a_process_that_lives_may_use() -> None:
    reason = f"may be of pid 9 (python3){LIVES}"
    kept = [{"name": "psm_2", "bytes": 1, "reason": reason, "doubtful": True}]
    assert told(shm_kept=kept).endswith(f"; 1 file stays, {reason}")


def test_what_stays_for_one_reason_is_told_once() -> None:
    names = ("psm_2", "psm_$(id)", "sem.mp-4")
    kept = [
        {"name": name, "bytes": 1, "reason": "may be of pid 9 (python3)", "doubtful": True} for name in names
    ]
    assert told(shm_kept=kept).endswith(
        "; 3 files stay, may be of pid 9 (python3); if not: cd /dev/shm && rm psm_2 'psm_$(id)' sem.mp-4"
    )
