"""How one launch goes: what is told, what goes on record, and what is left alone."""

from __future__ import annotations

import itertools
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.base.errors import BudgetSpent, PreflightRefused
from orchestrator.diagnosis.moments import written
from orchestrator.engines.vllm.log.grammar import GRAMMAR
from orchestrator.launch import attempt, vigil
from orchestrator.launch.attempt import Attempt
from orchestrator.launch.progress import Past, Progress
from orchestrator.launch.server import UnderWay
from orchestrator.plan.plan import make_plan
from orchestrator.plan.wishes import Wishes
from orchestrator.programs.place import Endpoint
from tests.jobs import KIMI, PATCHES, Told, job
from tests.launch.following import Following
from tests.surveys import survey
from tests.waiting import eventually

COMPLETION: dict[str, Any] = {
    "ok": False, "status": None, "text": None, "tokens": 0, "seconds": 1.0, "tokens_per_second": None, "error": None,
    "late": False, "context": None, "made_before": None, "made_after": None,
}  # fmt: skip
TOKENS = {"ok": True, "status": 200, "text": "4", "tokens": 8, "tokens_per_second": 40.0, "context": 46112}
LATE = {"late": True, "error": "none came in time"}
DEAD = {"status": 500, "error": "EngineCore encountered an issue."}
NO_KEY = {"status": 401, "error": "Unauthorized"}
BUSY = {"late": True, "error": "none came in time", "made_before": 10, "made_after": 90}
READY = {
    "healthy": True,
    "models": ["kimi-k2.5"],
    "listed": True,
    "locked": False,
    "ours": True,
    "owner": None,
}
FITTED = (
    b"(EngineCore_DP0 pid=812) INFO 02-20 21:35:07 [kv_cache_utils.py:1445] Auto-fit max_model_len: reduced from 262144 to "
    b"46096 to fit in available GPU memory (3.08 GiB available for KV cache)\n"
)
FITTED = (
    b"(EngineCore_DP0 pid=812) INFO 02-20 21:35:07 [kv_cache_utils.py:1445] Auto-fit max_model_len: reduced from 262144 to "
    b"46096 to fit in available GPU memory (3.08 GiB available for KV cache)\n"
)
MISMATCH = (
    b"(APIServer pid=800) INFO 02-20 21:34:40 [utils.py:294] non-default args: {'model': 'm'}\n"
    b"(APIServer pid=800) ERROR 02-20 21:35:07 [x.py:1] Traceback (most recent call last):\n"
    b'(APIServer pid=800) ERROR 02-20 21:35:07 [x.py:1]   File "/x/a.py", line 1, in f\n'
    b"(APIServer pid=800) ERROR 02-20 21:35:07 [x.py:1]     raise\n"
    b"(APIServer pid=800) ERROR 02-20 21:35:07 [x.py:1] LedgerTornError: page 4 is torn\n"
)


DUMP = "VLLM_STACK_DUMP_for_worker_0_7.log"
STACK = """
>>> Call stack dump #1 at Sat Nov 28 10:07:10 2026 due to feed timeout

Thread 0x00007f14ee89c740 (most recent call first):
  File "/opt/torch/distributed/distributed_c10d.py", line 2810 in all_reduce
  File "<string>", line 1 in <module>
"""


def exited(status: int | None, log: bytes = b"") -> dict[str, Any]:
    return {"exited": status, "log_bytes": len(log), "members": []}


class Serving(Following):
    """A host with an engine: each completion that is asked for comes to the next of these, the last one again and again."""

    def __init__(self, *completions: dict[str, Any], ended: dict[str, Any] | None = None) -> None:
        super().__init__(ended=ended or {})
        self._completions = [*completions]

    def script(self, module: str, request: Any, **options: Any) -> Any:
        answer = super().script(module, request, **options)
        if module == "record":
            return request["record"]
        if module != "smoke":
            return answer
        came, *more = self._completions
        self._completions = more or [came]
        return {**COMPLETION, **came}

    @property
    def recorded(self) -> list[dict[str, Any]]:
        return [request["record"] for module, request in self.asked if module == "record"]

    @property
    def completions(self) -> int:
        return [module for module, _ in self.asked].count("smoke")


class Clock:
    """Of which a minute passes whenever somebody asks."""

    def __init__(self) -> None:
        self._minutes: Iterator[int] = itertools.count()

    def monotonic(self) -> float:
        return 60.0 * next(self._minutes)


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(vigil, "PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(attempt, "LINGER_SECONDS", 0.01)
    monkeypatch.setattr(attempt, "EXIT_SECONDS", 0.01)
    monkeypatch.setattr(attempt, "QUIET_SECONDS", 0.05)
    monkeypatch.setattr(attempt, "time", Clock())


def following(
    host: Serving, past: Past = "new", *, served: bool = False, told: Told | None = None
) -> Attempt:
    """The third launch of the flagship, which answers on port 8000."""
    wishes = Wishes(patches=PATCHES)
    place = Endpoint(host="127.0.0.1", port=8000, model="kimi-k2.5")
    plan = make_plan("gpu7", KIMI, survey(), wishes)
    return Attempt(job(host, told, wishes=wishes), plan, UnderWay(3, "/log", place, served), past=past)


def test_a_launch_that_answers_and_completes_is_put_on_record_as_healthy() -> None:
    host, told = Serving(TOKENS), Told()
    host.states.put(READY)
    with following(host, told=told) as launch:
        assert launch.until_ready() is None
        assert host.recorded == []
        assert launch.prove() is None
        assert launch.context == 46112
    assert host.recorded == [{"action": "outcome", "launch": 3, "result": "healthy", "context": 46112}]
    (_, follow), *_ = host.asked
    assert {
        "launch": 3,
        "port": 8000,
        "model": "kimi-k2.5",
        "health_path": "/health",
    }.items() <= follow.items()
    assert [(event.step, event.data["state"]) for event in told.events if event.kind == "step"] == [
        ("launch 3", "started"),
        ("launch 3", "ok"),
        ("smoke", "started"),
        ("smoke", "ok"),
    ]
    assert told.events[-1].text == "8 tokens, 40 tok/s"


def test_one_that_ends_before_it_answers_is_diagnosed_with_its_log_and_kept_in_a_bundle() -> None:
    host, told = Serving(), Told()
    host.log.put(MISMATCH)
    host.states.put(exited(1, MISMATCH))
    with following(host, told=told) as launch:
        failure = launch.until_ready()
    assert failure is not None
    assert (failure.launch, failure.seen.exit_code, failure.cause) == (
        3,
        1,
        "LedgerTornError: page 4 is torn",
    )
    assert failure.bundle is not None and Path(failure.bundle).is_file()
    failed = {"cause": failure.cause, "finding": None, "from_outside": False}
    assert host.recorded == [{"action": "outcome", "launch": 3, "result": "failed", **failed}]
    assert (told.events[-1].data["state"], told.events[-1].text) == (
        "failed",
        "the engine ended with exit status 1",
    )


def test_what_the_host_knows_of_a_kill_is_asked_where_the_log_says_nothing() -> None:
    host = Serving(ended={"exit_code": 137, "kernel": []})
    host.states.put(exited(137))
    with following(host) as launch:
        failure = launch.until_ready()
    assert failure is not None and failure.from_outside
    assert failure.known.startswith("ended by SIGKILL; nobody knows by whom")
    assert host.recorded[0]["from_outside"] is True


def test_one_that_is_not_ready_in_time_is_on_record_as_a_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    host = Serving()
    the_attempt = following(host)
    monkeypatch.setattr(type(the_attempt._job), "ready_seconds", 0.01)
    with the_attempt as launch:
        failure = launch.until_ready()
    assert failure is not None and failure.seen.state == "late"
    assert (host.recorded[0]["result"], host.recorded[0]["cause"]) == ("hang", "not healthy in time")


def test_one_that_stands_still_is_told_by_the_stacks_that_it_left(monkeypatch: pytest.MonkeyPatch) -> None:
    host = Serving()
    host.answers["stacks"] = {"files": [{"name": DUMP, "age_seconds": 900.0, "text": STACK}]}
    the_attempt = following(host)
    monkeypatch.setattr(type(the_attempt._job), "ready_seconds", 0.01)
    monkeypatch.setattr(Progress, "idle_seconds", 9000.0)
    with the_attempt as launch:
        failure = launch.until_ready()
    assert failure is not None
    assert failure.cause.startswith("worker_0 (pid 7) waits in a collective of the ranks: all_reduce in")
    with tarfile.open(str(failure.bundle)) as packed:
        assert DUMP in {Path(name).name for name in packed.getnames()}
    assert (
        "stacks",
        {"instance": "kimi-k2.5", "launch": 3, "names": DUMP.replace("worker_0_7", "*")},
    ) in host.asked


@pytest.mark.parametrize(
    ("completion", "end", "result"),
    [
        (LATE, None, "hang"),
        (DEAD, None, "failed"),
        (DEAD, exited(1), "failed"),
        (DEAD, exited(0), "failed"),  # an API server whose engine died may leave in good order
    ],
)
def test_a_first_completion_that_fails_is_a_failure_of_the_launch(
    completion: dict[str, Any], end: dict[str, Any] | None, result: str
) -> None:
    host = Serving(completion)
    host.states.put(READY, *([end] if end else []))
    with following(host) as launch:
        assert launch.until_ready() is None
        failure = launch.prove()
    assert failure is not None and failure.answer is not None
    assert failure.answer.error == completion["error"]
    assert [record["result"] for record in host.recorded] == [result]
    assert host.completions == 1


@pytest.mark.parametrize(
    ("completion", "kind", "code"),
    [(NO_KEY, PreflightRefused, "no_key"), (BUSY, BudgetSpent, "server_busy")],
)
def test_a_server_that_only_we_get_nothing_from_is_left_alone_and_off_the_record(
    completion: dict[str, Any], kind: type[Exception], code: str
) -> None:
    host = Serving(completion)
    host.states.put(READY)
    with following(host) as launch:
        launch.until_ready()
        with pytest.raises(kind) as caught:
            launch.prove()
    assert caught.value.code == code  # type: ignore[attr-defined]
    assert host.recorded == []


def test_one_that_may_have_served_for_days_is_asked_again_before_it_is_given_up() -> None:
    host = Serving(LATE, LATE, TOKENS)
    host.states.put(READY)
    with following(host, "older", served=True) as launch:
        assert launch.until_ready() is None
        assert launch.prove() is None
        assert host.recorded == [{"action": "outcome", "launch": 3, "result": "healthy", "context": 46112}]
        assert launch.prove() is None  # it is proven
    assert (host.completions, len(host.recorded)) == (3, 1)


def test_one_that_was_healthy_counts_as_broken_once_completions_failed_for_minutes() -> None:
    host, told = Serving(LATE), Told()
    with following(host, "healthy", served=True, told=told) as launch:
        failure = launch.ask_again()
    assert failure is not None
    assert failure.asked == 3
    assert failure.cause == "it was up, and 3 completions over 5m00s failed, the last: none came in time"
    assert host.completions == 3
    warning = next(event.text for event in told.events if event.kind == "warning")
    assert warning.startswith(
        "launch 3 was up and does not answer. Nothing is ended unless 3 completions fail over 3m00s"
    )


def test_a_completion_that_comes_after_all_is_told_with_how_often_it_was_asked() -> None:
    host, told = Serving(LATE, TOKENS), Told()
    with following(host, "healthy", served=True, told=told) as launch:
        assert launch.ask_again() is None
    assert told.events[-1].text == "8 tokens, 40 tok/s, after 2 completions over 3m00s"
    assert host.recorded == []


def test_one_whose_processes_are_gone_meanwhile_is_not_explained_by_its_log() -> None:
    host = Serving(LATE)
    host.log.put(MISMATCH)
    host.states.put(exited(None, MISMATCH))
    with following(host, "healthy", served=True) as launch:
        failure = launch.ask_again()
    assert failure is not None and failure.silent
    assert failure.cause == "the engine ended, nobody knows with which exit status"


def test_one_that_answers_is_looked_at_while_the_others_of_its_group_are_waited_for() -> None:
    host = Serving(TOKENS)
    host.states.put(READY)
    with following(host) as launch:
        assert launch.until_ready() is None
        assert launch.outlive(0.01) is None
        assert host.recorded == []
        host.states.put(exited(1))
        failure = launch.outlive(30.0)
    assert failure is not None
    assert failure.cause == "the engine ended with exit status 1"
    assert [record["result"] for record in host.recorded] == ["failed"]


def test_its_log_knows_better_than_its_server_how_many_tokens_fitted() -> None:
    """Up to vLLM 0.19 the server goes on to name the model's own."""
    host = Serving({**TOKENS, "context": 262144})
    host.log.put(FITTED)
    host.states.put(READY)
    with following(host) as launch:
        eventually(lambda: launch._live.context)
        assert launch.until_ready() is None
        assert launch.prove() is None
    assert launch.context == 46096
    assert host.recorded[0]["context"] == 46096


def test_when_another_of_its_group_has_failed_its_own_failure_is_on_record_though_it_lives_on() -> None:
    host = Serving()
    with following(host) as launch:
        host.log.put(MISMATCH)
        eventually(lambda: [*launch._watch.log_lines()])
        failure = launch.overheard()
    assert failure is not None
    assert (failure.seen.state, failure.overheard) == ("lingering", False)
    assert failure.cause.startswith("LedgerTornError")
    assert failure.came is not None
    assert [(record["action"], record["result"]) for record in host.recorded] == [("outcome", "failed")]


def test_one_that_only_waits_when_another_of_its_group_has_failed_has_not_failed() -> None:
    host = Serving()
    with following(host) as launch:
        host.log.put(b"(Worker pid=7) INFO 02-20 21:35:07 [x.py:1] Starting to load model m...\n")
        failure = launch.overheard()
    assert failure is not None
    assert failure.overheard
    assert host.recorded == []


def test_when_what_an_earlier_run_started_failed_says_its_log() -> None:
    host = Serving()
    with following(host, "older") as launch:
        host.log.put(MISMATCH)
        eventually(lambda: [*launch._watch.log_lines()])
        failure = launch.overheard()
    assert failure is not None
    assert failure.came == written(MISMATCH.splitlines(), 5, GRAMMAR)
