"""What an engine leaves on a host, as it comes over a channel or out of a record."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import pytest

from orchestrator.engines import registry
from orchestrator.on_host.footprint import CachePlace, Footprint, SharedNames

ONE = Footprint(
    "engine",
    "/engine/",
    (SharedNames("e_", ("/engine/",)),),
    (
        (CachePlace("$E_CACHE", "e", tilde=True), CachePlace("home", ".e")),
        (CachePlace("$E_TMP", entries="e.*"),),
    ),
)


def test_it_comes_through_json_as_it_was() -> None:
    for footprint in (ONE, *(registry.get(kind).footprint for kind in registry.launched())):
        assert Footprint.of(json.loads(json.dumps(asdict(footprint)))) == footprint


@pytest.mark.parametrize(
    "changed",
    [
        {"called": "("},
        {"called": None},
        {"mapped": 3},
        {"shared_memory": [{"begin": "", "made_with": []}]},
        {"shared_memory": [{"begin": "e_"}]},
        {"shared_memory": [{"begin": "e_", "made_with": [1]}]},
        {"caches": [[{"start": "home", "below": "e", "by": "a later release"}]]},
        {"caches": [[{"start": "elsewhere", "below": "e"}]]},
        {"caches": [[{"start": "$", "below": "e"}]]},
        {"caches": [[{"start": 7, "below": "e"}]]},
        {"caches": [[{"start": "home", "below": None}]]},
        {"caches": [[{"start": "$E_CACHE", "itself": True}]]},
        {"caches": [[{"start": "home"}]]},
        {"caches": [[{"start": "home", "entries": "("}]]},
        {"caches": [[{"start": "home", "below": "e", "inside": 7}]]},
        {"caches": [[{"below": "x"}]]},
        {"caches": [[None]]},
        {"caches": [7]},
    ],
)
def test_what_is_none(changed: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        Footprint.of({**asdict(ONE), **changed})
    with pytest.raises(ValueError):
        Footprint.of(None)


def test_names_by_their_beginning() -> None:
    assert ONE.knows("e_1")
    assert not ONE.knows("ee_1")
    assert not Footprint("e", "e", (), ()).knows("e_1")


def test_the_variables_that_lead_to_its_caches() -> None:
    assert list(ONE.variables) == ["E_CACHE", "E_TMP"]
