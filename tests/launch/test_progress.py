"""What is told of a launch while it is waited for, and when there is nothing left to wait for."""

from __future__ import annotations

from typing import Any, cast

import pytest

from orchestrator.base.events import StepReport
from orchestrator.diagnosis.live import Live
from orchestrator.diagnosis.startup import Phase
from orchestrator.diagnosis.verdict import Diagnosis, Finding, RootCause
from orchestrator.launch import progress
from orchestrator.launch.other_hosts import ALONE
from orchestrator.launch.progress import APART_SECONDS, Past, Progress, phase_text
from orchestrator.programs.watch import Labour

UP = Phase("up")
LOADING = Phase("loading weights", 71, 119)
IDLE = Labour(cpu_seconds=0.0, read_bytes=0)


class Reader:
    """Stands for what reads the log: says what a test wants it to."""

    def __init__(self) -> None:
        self.phases = [Phase("starting")]
        self.found: Diagnosis | None = None
        self.verdict: Any = "starting"
        self.doomed = self.served = self.waits = False

    @property
    def phase(self) -> Phase:
        return self.phases[-1]

    def feed(self, chunk: bytes) -> list[Phase]:
        return self.phases

    def look(self) -> Diagnosis | None:
        return self.found

    def now(self, idle_seconds: float) -> Diagnosis:
        self.idle_seconds = idle_seconds
        return Diagnosis(verdict=self.verdict)


class Step:
    """Keeps what is told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, dict[str, Any]]] = []

    def progress(self, text: str, **data: Any) -> None:
        self.told.append((text, data))


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(progress, "time", made)
    return made


class Peer:
    """Another host of the group, which stands still or does not."""

    def __init__(self, *, still: bool) -> None:
        self.still = still
        self.asked: list[bool] = []

    def proceed(self) -> None:
        return

    def all_still(self, still: bool) -> bool:
        self.asked.append(still)
        return still and self.still


def shown(
    past: Past = "new", *, served: bool = False, peer: Peer | None = None
) -> tuple[Progress, Reader, Step]:
    reader, step = Reader(), Step()
    made = Progress(cast(Live, reader), past, served=served, peers=peer or ALONE, spread=peer is not None)
    made.step = cast(StepReport, step)
    return made, reader, step


def test_a_phase_is_told_once_and_again_when_it_gets_on() -> None:
    made, reader, step = shown()
    for phases in (
        [Phase("starting")],
        [Phase("starting"), LOADING],
        [LOADING],
        [Phase("loading weights", 72, 119)],
    ):
        reader.phases = phases
        made.log(b"line\n")
    assert [text for text, _ in step.told] == ["starting", "loading weights 71/119", "loading weights 72/119"]
    assert step.told[1][1] == {"phase": "loading weights", "done": 71, "total": 119, "eta": None}


def test_a_heartbeat_repeats_what_was_told_last_with_the_time(clock: Clock) -> None:
    made, reader, step = shown()
    made.waited(2.04, IDLE)
    reader.phases = [LOADING]
    made.log(b"line\n")
    made.waited(4.0, IDLE)
    told = [step.told[0], step.told[-1]]
    assert told == [("starting", {"waited": 2.0}), ("loading weights 71/119", {"waited": 4.0})]


def test_a_finding_is_told_as_its_lines_arrive_and_hides_what_is_secret() -> None:
    made, reader, step = shown()
    finding = Finding(patch="mine", category="other", title="It broke", explanation="", confidence="certain")
    cause = RootCause(text=f"Bad hf_{'a' * 34}", line=3, process="Worker_TP4", exception=None)
    reader.found = Diagnosis(verdict="fault", finding=finding, root_cause=cause)
    made.log(b"line\n")
    text, data = step.told[-1]
    assert (text, data["finding"], data["process"]) == ("failing: It broke", "mine", "Worker_TP4")
    assert "aaaa" not in data["root_cause"]


@pytest.mark.parametrize(("phase", "words"), [(LOADING, "loading weights 71/119"), (UP, "up")])
def test_a_phase_in_words(phase: Phase, words: str) -> None:
    assert phase_text(phase) == words


@pytest.mark.parametrize(
    ("past", "served", "completion_failed", "given_up"),
    [
        ("new", False, False, True),
        ("older", False, False, True),
        ("healthy", False, False, False),
        ("new", True, False, False),  # clients write into its log as well
        ("older", True, True, False),
        ("new", True, True, True),
        ("healthy", True, True, False),
    ],
)
@pytest.mark.parametrize("why", ["lingering", "hanging"])
def test_whose_word_is_believed_that_it_failed(
    clock: Clock, why: str, past: Past, served: bool, completion_failed: bool, given_up: bool
) -> None:
    made, reader, _ = shown(past, served=served)
    made.completion_failed = completion_failed
    reader.doomed, reader.verdict = why == "lingering", "hang" if why == "hanging" else "starting"
    made.log(b"line\n")
    made.waited(1.0, IDLE)
    clock.now += progress.LINGER_SECONDS + 0.1
    assert made.given_up() == (why if given_up else None)


def test_a_launch_that_is_doomed_is_left_the_time_to_end_by_itself(clock: Clock) -> None:
    made, reader, _ = shown()
    reader.doomed = True
    made.log(b"line\n")
    clock.now += progress.LINGER_SECONDS
    made.log(b"another rank's\n")
    assert made.given_up() is None
    clock.now += 0.1
    assert made.given_up() == "lingering"
    reader.doomed = False  # a phase began since
    made.log(b"line\n")
    assert made.given_up() is None


def test_another_line_ends_a_hang() -> None:
    made, reader, _ = shown()
    reader.verdict = "hang"
    made.waited(1.0, IDLE)
    assert made.given_up() == "hanging"
    made.log(b"line\n")
    assert made.given_up() is None


@pytest.mark.parametrize(
    ("phase", "work", "alive"),
    [
        ("loading weights", Labour(cpu_seconds=9.0, read_bytes=0), False),  # ranks that wait spin
        ("loading weights", Labour(cpu_seconds=0.0, read_bytes=1 << 20), False),
        ("loading weights", Labour(cpu_seconds=0.0, read_bytes=(1 << 20) + 1), True),
        ("compiling", Labour(cpu_seconds=0.2, read_bytes=0), False),
        ("compiling", Labour(cpu_seconds=0.3, read_bytes=0), True),
    ],
)
def test_work_that_is_a_sign_of_life(clock: Clock, phase: str, work: Labour, alive: bool) -> None:
    made, reader, _ = shown()
    reader.phases = [Phase(phase)]
    made.waited(0.0, IDLE)
    clock.now += 60
    made.waited(60.0, work)
    assert (made.idle_seconds, reader.idle_seconds) == ((0, 0) if alive else (60, 60))


def test_what_a_launch_spent_its_time_on(clock: Clock) -> None:
    made, reader, _ = shown()
    for name, seconds in (("starting", 0.5), ("loading weights", 190), ("capturing graphs", 41), ("up", 0.9)):
        reader.phases = [Phase(name)]
        made.log(b"line\n")
        clock.now += seconds
    assert made.summary("healthy") == "weights 3m10s, graphs 41s, healthy"


def test_a_server_came_up_where_its_log_or_somebody_who_knows_says_so() -> None:
    made, reader, _ = shown()
    assert not made.serves
    reader.served = True
    assert made.serves
    assert shown(served=True)[0].serves


@pytest.mark.parametrize(("still", "given_up"), [(True, "hanging"), (False, None)])
def test_one_of_several_hosts_stands_still_where_all_do(still: bool, given_up: str | None) -> None:
    made, reader, _ = shown(peer=Peer(still=still))
    reader.verdict = "hang"
    made.waited(700.0, IDLE)
    assert made.given_up() == given_up


def test_a_host_whose_head_serves_is_waited_for_by_nobody() -> None:
    peer = Peer(still=True)
    made, _, _ = shown(served=True, peer=peer)
    assert made.given_up() is None
    assert peer.asked == [False]


def test_ranks_that_wait_where_all_meet_wait_in_vain_after_a_minute(clock: Clock) -> None:
    made, reader, _ = shown(peer=Peer(still=True))
    reader.waits = True
    made.log(b"world_size=2 rank=0\n")
    clock.now += APART_SECONDS / 2
    made.log(b"a warning\n")
    assert made.idle_seconds == 0.0
    clock.now += APART_SECONDS
    assert made.idle_seconds > 3600
    reader.waits = False
    made.log(b"rank 0 in world size 2 is assigned\n")
    assert made.idle_seconds == 0.0


def test_ranks_of_one_host_may_take_their_time_to_meet(clock: Clock) -> None:
    made, reader, _ = shown()
    reader.waits = True
    made.log(b"world_size=2 rank=0\n")
    clock.now += 2 * APART_SECONDS
    assert made.idle_seconds == 2 * APART_SECONDS
