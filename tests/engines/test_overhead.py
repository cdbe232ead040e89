"""What a card keeps besides weights and KV cache, against launches that were measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from orchestrator.engines.sizing import Overhead
from orchestrator.engines.vllm.overhead import Profiled, overhead
from tests import yaml_data

HERE = Path(__file__).parent
LAUNCHES: list[dict[str, Any]] = yaml_data.load(HERE / "measured.yaml")["launches"]


def estimated(launch: dict[str, Any], **more: Any) -> Overhead:
    model = launch["model"]
    if isinstance(model, str):
        model = json.loads((HERE / "sizing" / "configs" / f"{model}.json").read_text())
    given: dict[str, Any] = {
        "version": str(launch["version"]), "ranks": launch.get("ranks", 1), "memory_gib": launch["memory"], "card": launch["card"],
        "step_tokens": launch.get("step_tokens"), "sequences": launch.get("sequences"), "graphs": not launch.get("eager"),
        "share": launch["share"],
    }  # fmt: skip
    return overhead(model, Profiled(**{**given, **more}))


def kept(launch: dict[str, Any]) -> float:
    return launch["share"] * launch["memory"] - launch["weights"] - launch["available"]


def test_there_are_enough_measured_launches_and_few_outside_the_band() -> None:
    assert len(LAUNCHES) >= 20
    assert sum("outside" in launch for launch in LAUNCHES) <= len(LAUNCHES) / 8


@pytest.mark.parametrize("launch", LAUNCHES, ids=lambda launch: launch["name"])
def test_what_a_card_kept_lies_in_the_band_and_our_room_is_its_room_to_a_gib(launch: dict[str, Any]) -> None:
    """The tolerance: the middle of the band to 1.0 GiB of the room that was printed."""
    band = estimated(launch)
    inside = band.optimistic <= kept(launch) <= band.safe
    assert inside is ("outside" not in launch), (round(kept(launch), 2), band)
    if inside:
        ours = launch["share"] * launch["memory"] - launch["weights"] - (band.optimistic + band.safe) / 2
        assert ours == pytest.approx(launch["available"], abs=1.0)


def test_what_a_config_does_not_say_is_as_usual() -> None:
    one, eight = ({**LAUNCHES[0], "ranks": ranks, "memory": 94.97, "version": "0.16.0"} for ranks in (1, 8))
    for launch in (one, eight):
        unknown = estimated({**launch, "model": None})
        assert estimated({**launch, "model": {"hidden_size": 7168 if launch is eight else 5120}}) == unknown
    assert estimated({**eight, "model": None, "share": 0.9}) == Overhead(optimistic=3.3, safe=5.0)
    assert estimated({**eight, "model": {"hidden_size": "many"}}) == estimated({**eight, "model": None})
