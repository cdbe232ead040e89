"""What is fetched, and that the lock is sure before a byte is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

import pytest

from orchestrator.download import fetch
from orchestrator.download.exchange import ShowWait, Supply
from orchestrator.group.ways import CheckpointWay
from orchestrator.job import Job
from orchestrator.programs.download import Listing, Manifest
from orchestrator.programs.inspect_checkpoint import Index
from orchestrator.steps.download import Download
from orchestrator.steps.step import Work
from orchestrator.survey.checkpoint import Checkpoint
from orchestrator.survey.survey import Survey
from tests.jobs import Told, job
from tests.steps.doing import do, plan
from tests.surveys import NO_FILES, SHARDS, WHOLE, survey

INDEX = Index(
    total_size=590_700_000_000, shards=SHARDS, present=SHARDS[:60], missing=SHARDS[60:], broken=False
)
HALF = replace(WHOLE, index=INDEX)
CUT_OFF = replace(WHOLE, manifest=Manifest(files={}))
NO_INDEX = replace(WHOLE, index=None)


@pytest.mark.parametrize(
    ("checkpoint", "fetches", "bytes_"),
    [
        (WHOLE, False, 0),
        (NO_INDEX, False, 0),  # the check that follows knows more
        (NO_FILES, True, 590_700_000_000),
        (HALF, True, 292_868_067_227),
        (CUT_OFF, True, None),
    ],
)
def test_what_is_known_to_be_missing_is_fetched(
    checkpoint: Checkpoint, fetches: bool, bytes_: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched: list[Any] = []
    monkeypatch.setattr(fetch, "fetch", lambda job, found, proceed, **more: fetched.append(found))
    step = Download(plan(survey(checkpoint=checkpoint)))
    assert step.effects.network_bytes == bytes_
    assert step.effects.words[0].startswith("fetch" if fetches else "nothing")
    assert do(step) == (("verify", 1) if fetches else (None, 0))
    assert len(fetched) == fetches


@pytest.mark.parametrize(
    ("checkpoint", "rate", "seconds"),
    [
        (HALF, 100_000_000, 2928.68067227),
        (HALF, None, None),
        (CUT_OFF, 100_000_000, None),
        (WHOLE, 100_000_000, None),
    ],
)
def test_the_last_downloads_rate_tells_how_long_it_takes(
    checkpoint: Checkpoint, rate: int | None, seconds: float | None
) -> None:
    manifest = Manifest(files={}, complete=checkpoint is not CUT_OFF, rate=rate)
    there = replace(checkpoint, manifest=manifest)
    assert Download(plan(survey(checkpoint=there))).effects.seconds == pytest.approx(seconds)
    bare = replace(checkpoint, manifest=None)
    assert Download(plan(survey(checkpoint=bare))).effects.seconds is None


class Exchanging:
    """An exchange of which one host's part is played."""

    def __init__(self, given: Supply | None) -> None:
        self.given, self.known_on, self.done_on, self.open = given, list[str](), list[str](), False

    def known(self, host: str) -> None:
        self.known_on.append(host)

    def done(self, host: str) -> None:
        self.done_on.append(host)

    @contextmanager
    def supply(self, host: str, proceed: Callable[[], None], wait: ShowWait) -> Iterator[Supply | None]:
        self.open = True
        yield self.given
        self.open = False


@pytest.mark.parametrize("source", ["gpu7", "gpu8"])
@pytest.mark.parametrize("gives", [True, False])
def test_what_another_host_has_comes_from_there(
    source: str, gives: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    supply = Supply(Listing(commit="c" * 40, files={}), (), (0, 1))
    exchange = Exchanging(supply if gives else None)
    asked: list[Any] = []

    def fetch_(job: Job, surveyed: Survey, proceed: Any, *, supply: Any = None, known: Any = None) -> None:
        assert exchange.open == (source != "gpu7")
        asked.append(supply)
        assert not exchange.done_on
        if known:
            known()

    monkeypatch.setattr(fetch, "fetch", fetch_)
    told = Told()
    step = Download(
        plan(survey(checkpoint=NO_FILES)), CheckpointWay("gpu7", source, "10.0.0.8", True, ("x",))
    )
    with ExitStack() as until_end:
        work = Work(job(told=told), lambda: None, until_end, exchange=exchange)  # type: ignore[arg-type]
        assert step.do(work) == "verify"
    receives = source == "gpu8"
    assert asked == [supply if receives and gives else None]
    assert exchange.known_on == exchange.done_on == ([] if receives else ["gpu7"])
    warned = [event.text for event in told.events if event.kind == "warning"]
    assert warned == (["gpu8 gives nothing: asking the Hub instead"] if receives and not gives else [])


def test_who_lacks_nothing_after_all_keeps_nobody_waiting() -> None:
    exchange = Exchanging(None)
    with ExitStack() as until_end:
        work = Work(job(), lambda: None, until_end, exchange=exchange)  # type: ignore[arg-type]
        assert Download(plan(survey(checkpoint=WHOLE))).do(work) is None
    assert exchange.known_on == exchange.done_on == ["gpu7"]
