"""What a token and a request cost, against what vLLM itself reckons for published configs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from orchestrator.engines.kv_cache import CacheQuestion, KvCache
from orchestrator.engines.vllm.sizing.cost import kv_cache
from tests import yaml_data

HERE = Path(__file__).parent
EXPECTED: dict[str, dict[str, Any]] = yaml_data.load(HERE / "expected.yaml")["configs"]
TENSOR = (1, 2, 4, 8)
DTYPES = {"bf16": "auto", "fp8": "fp8"}


def ask(name: str, dtype: str, tensor: int, version: str = "0.32.0", card: str = "9.0") -> KvCache | None:
    config = json.loads((HERE / "configs" / f"{name}.json").read_text())
    return kv_cache(CacheQuestion(config, version, DTYPES[dtype], tensor, compute_cap=card))


def whole(cache: KvCache | None) -> float | None:
    """Bytes a token of the layers that keep every token, however long the request."""
    return None if cache is None else cache.token_bytes(1 << 40)


def questions(name: str) -> list[tuple[str, int, int]]:
    """Each dtype and tensor parallel size that the engine takes, with its place in the lists."""
    refused = EXPECTED[name].get("refused", {})
    return [
        (dtype, tensor, place)
        for dtype in DTYPES
        for place, tensor in enumerate(TENSOR)
        if not isinstance(refused, dict) or tensor not in refused
    ]


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_token_costs_what_the_engine_says(name: str) -> None:
    nothing = dict.fromkeys(DTYPES, [None] * len(TENSOR))
    theirs = EXPECTED[name].get("whole", nothing)
    for dtype, tensor, place in questions(name):
        assert whole(ask(name, dtype, tensor)) == theirs[dtype][place], (dtype, tensor)


@pytest.mark.parametrize("name", sorted(name for name in EXPECTED if "kinds" in EXPECTED[name]))
def test_each_kind_of_layer_is_what_the_engine_builds(name: str) -> None:
    for dtype, tensor, place in questions(name):
        cache = ask(name, dtype, tensor)
        assert cache is not None
        ours = sorted((kind.kind, kind.count, kind.each) for kind in cache.layers)
        theirs = EXPECTED[name]["kinds"]
        assert ours == sorted((kind["kind"], kind["layers"], kind[dtype][place]) for kind in theirs)
        windows = sorted(kind.tokens or 0 for kind in cache.layers if kind.kind in ("window", "chunk"))
        assert windows == sorted(kind["tokens"] for kind in theirs if kind["kind"] in ("window", "chunk"))


@pytest.mark.parametrize("name", sorted(name for name in EXPECTED if "request" in EXPECTED[name]))
def test_a_request_wants_what_the_start_up_check_wants(name: str) -> None:
    for dtype, tensor, place in questions(name):
        cache = ask(name, dtype, tensor)
        assert cache is not None
        for context, sizes in EXPECTED[name]["request"][dtype].items():
            assert cache.request_bytes(context) == sizes[place], (dtype, tensor, context)


@pytest.mark.parametrize(
    ("name", "card"),
    [
        (name, card)
        for name in sorted(EXPECTED)
        for card, answer in EXPECTED[name].get("cards", {}).items()
        if "whole" in answer
    ],
)
def test_a_card_of_another_kind_has_its_own_layout(name: str, card: str) -> None:
    theirs = EXPECTED[name]["cards"][card]["whole"]
    assert {dtype: [whole(ask(name, dtype, 1, card=card))] for dtype in DTYPES} == theirs


@pytest.mark.parametrize(
    ("name", "version"),
    [
        (name, version)
        for name in sorted(EXPECTED)
        for version, answer in EXPECTED[name].get("releases", {}).items()
        if "kinds" in answer
    ],
)
def test_an_older_release_answers_differently(name: str, version: str) -> None:
    older = EXPECTED[name]["releases"][version]
    tensor = 2 if len(older["kinds"][0]["bf16"]) == 1 else 1
    for dtype in DTYPES:
        cache = ask(name, dtype, tensor, version)
        theirs = sorted((kind["kind"], kind["layers"], kind[dtype][0]) for kind in older["kinds"])
        if f"{dtype}_refused" in older:
            assert cache is None
        else:
            assert cache is not None
            assert sorted((kind.kind, kind.count, kind.each) for kind in cache.layers) == theirs


def test_every_config_has_its_figures() -> None:
    assert {path.stem for path in (HERE / "configs").iterdir()} == set(EXPECTED)
