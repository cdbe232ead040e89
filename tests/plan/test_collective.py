"""What collectives come to: numbers as nccl-tests tell them, and whether the planned variables earn their place."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from orchestrator.facts.gpus import Gpus
from orchestrator.plan.collective import bus_gb_per_s, gathered
from orchestrator.plan.plan import make_plan
from orchestrator.plan.wishes import Wishes
from orchestrator.programs.collective import CollectiveNews, CollectiveOutcome, Timing
from orchestrator.programs.journal import read
from orchestrator.report.plan_text import summary
from orchestrator.survey.journal import fold
from tests.jobs import KIMI
from tests.plan.collectives import FAILED, SILENT, measured, outcome
from tests.plan.hosts import host
from tests.surveys import cards


@pytest.mark.parametrize(
    ("size", "seconds", "ranks", "gb"),
    [
        (128 << 20, 134217728 / 41e9 * 2 * 7 / 8, 8, 41.0),  # the algorithm's own is 41 / 1.75
        (128 << 20, 134217728 / 300e9, 2, 300.0),  # of two the factor is 1
        (1 << 30, 1.0, 4, 1.610612736),
    ],
)
def test_bus_bandwidth_is_that_of_nccl_tests(size: int, seconds: float, ranks: int, gb: float) -> None:
    assert bus_gb_per_s(Timing(bytes=size, seconds=seconds), ranks) == pytest.approx(gb)


FAST, SLOW = outcome(30, 60, 5728), outcome(45, 80, 10210)


@pytest.mark.parametrize(
    ("outcomes", "worth", "sentence"),
    [
        ({"untuned": FAST}, "nothing_set", "41.0 GB/s, 30 us; no variable of NCCL is planned"),
        ({"tuned": FAST, "untuned": SLOW}, "keep", "tuned 41.0 GB/s, 30 us; untuned 23.0 GB/s, 45 us: 131,072 KiB in 5,728 us instead of 10,210: keep NCCL_P2P_LEVEL=SYS"),
        ({"tuned": FAST, "untuned": outcome(30.5, 61, 5800)}, "leave_out", "untuned 40.5 GB/s, 30 us: no difference: leave NCCL_P2P_LEVEL=SYS out"),
        ({"tuned": SLOW, "untuned": FAST}, "leave_out", "untuned 41.0 GB/s, 30 us: 131,072 KiB in 10,210 us instead of 5,728: leave NCCL_P2P_LEVEL=SYS out"),
        ({"tuned": outcome(30, 60, 10210), "untuned": outcome(45, 80, 5728)}, "mixed", "helps some sizes and harms others"),
        ({"tuned": outcome(30, 40, 5728), "untuned": outcome(30, 80, 5728)}, "keep", "256 KiB in 40 us instead of 80: keep NCCL_P2P_LEVEL=SYS"),
        ({"tuned": outcome(**SILENT), "untuned": SLOW}, "leave_out", "tuned stood still at the first sum; untuned 23.0 GB/s, 45 us: leave"),
        ({"tuned": outcome(30, 60, 5728, wrong=12_000), "untuned": SLOW}, "leave_out", "tuned added up wrongly (12,000 numbers)"),
        ({"tuned": SLOW, "untuned": outcome(**FAILED)}, "keep", "untuned failed (DistBackendError: x): keep"),
        ({"tuned": outcome(**SILENT), "untuned": outcome(**FAILED), "without_p2p": SLOW}, "broken", "untuned failed (DistBackendError: x); with NCCL_P2P_DISABLE=1 23.0 GB/s"),
        ({"untuned": outcome(**{**SILENT, "at": "checked"})}, "broken", "all-reduce over 8 GPUs (bus bandwidth of 128 MiB, latency of 8 KiB): stood still later on"),
        ({"tuned": outcome(**{**SILENT, "at": "starting"})}, "broken", "tuned stood still while torch was imported; untuned not tried"),
    ],
)  # fmt: skip
def test_what_follows(outcomes: dict[str, CollectiveOutcome], worth: str, sentence: str) -> None:
    result = measured(outcomes)
    assert result.worth == worth
    assert sentence in result.sentence
    told = json.loads(json.dumps(result.as_json()))
    assert (told["worth"], told["sentence"]) == (worth, result.sentence)
    assert list(told["runs"]) == list(outcomes)


def test_json_has_the_two_numbers_of_a_run_that_went_well_alone() -> None:
    told = measured({"tuned": FAST, "untuned": outcome(1, 1, 1, wrong=3)}).as_json()["runs"]
    assert (told["tuned"]["bus_gb_per_s"], told["tuned"]["latency_us"]) == (41.01, 30.0)
    assert (told["untuned"]["bus_gb_per_s"], told["untuned"]["latency_us"]) == (None, None)
    assert told["tuned"]["sizes"][-1] == {"bytes": 128 << 20, "us": 5728.0, "bus_gb_per_s": 41.01}


def test_news_is_put_together_by_the_numbers_of_the_gpus() -> None:
    news = [
        CollectiveNews(run="tuned", outcome=outcome(**SILENT)),
        CollectiveNews(run="tuned", pair=(0, 2), outcome=outcome()),
        CollectiveNews(run="tuned", pair=(1, 2), outcome=outcome(**SILENT)),
        CollectiveNews(untried=1),
        CollectiveNews(run="untuned", outcome=SLOW),
    ]
    result = gathered((4, 5, 7), ("a", "b", "c"), None, {"NCCL_PROTO": "LL"}, news)
    assert [pair[:2] for pair in result.pairs] == [(4, 7), (5, 7)]
    assert (result.untried, set(result.outcomes)) == (1, {"tuned", "untuned"})


NEWER = Gpus(tuple(replace(card, driver="590.1") for card in cards(8).gpus))
OTHERS = Gpus(tuple(replace(card, uuid=f"{card.uuid}-x") for card in cards(8).gpus))


@pytest.mark.parametrize(
    ("options", "facts", "holds"),
    [
        (["environment.NCCL_PROTO=null"], {}, True),
        ([], {}, False),  # with NCCL_PROTO=LL, which it was not measured with
        (["environment.NCCL_PROTO=null", "environment.NCCL_P2P_LEVEL=PHB"], {}, False),
        (["environment.NCCL_PROTO=null", "parallel.tensor=4"], {}, False),
        (["environment.NCCL_PROTO=null"], {"gpus": NEWER}, False),
        (["environment.NCCL_PROTO=null"], {"gpus": OTHERS}, False),
    ],
)
def test_a_plan_names_what_was_measured_while_it_holds(
    options: list[str], facts: dict[str, Any], holds: bool
) -> None:
    record = measured({"tuned": FAST, "untuned": SLOW}).record
    stored = read(
        {"at": "2026-11-30T15:00:00+00:00", "machine": "m", **json.loads(json.dumps(record.as_json()))}
    )
    survey = replace(host(**facts), history=fold([stored]))
    plan = make_plan("gpu7", KIMI.with_overrides(options), survey, Wishes(patches=()))
    line = "  measured   2026-11-30, all-reduce over 8 GPUs"
    assert any(text.startswith(line) for text in summary(plan)) is holds
    told = plan.as_json()["collective"]
    assert (told is not None) is holds
    assert not holds or (told["worth"], told["at"]) == ("keep", "2026-11-30T15:00:00+00:00")
