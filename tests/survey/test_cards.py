"""Cards that are known by name, and what is said of others."""

from __future__ import annotations

import re

import pytest

from orchestrator.base.errors import UsageError
from orchestrator.engines.sizing import smallest_memory_gib
from orchestrator.survey.cards import MOST, holding, known, named


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("8xRTX PRO 6000", "8xRTX PRO 6000"),
        ("8x RTX PRO 6000", "8xRTX PRO 6000"),
        ("8 × rtx-pro_6000", "8xRTX PRO 6000"),
        ("8*NVIDIA RTX PRO 6000 Blackwell Server Edition", "8xRTX PRO 6000"),
        ("NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", "1xRTX PRO 6000"),
        ("H200", "1xH200"),
        ("2XH100 80GB HBM3", "2xH100"),
        ("NVIDIA GeForce RTX 5090", "1xRTX 5090"),
        ("2xDGX Spark", "2xGB10"),
        ("4xA100-SXM4-80GB", "4xA100 80GB"),
    ],
)
def test_a_card_is_meant_in_any_spelling(text: str, name: str) -> None:
    assert named(text).name == name
    assert named(named(text).name) == named(text)


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("8xRTX PRO 600", "8xRTX PRO 6000"),
        ("8xRTXPR06000", "8xRTX PRO 6000"),
        ("H20O", "1xH200"),
        ("4xA1000 80GB", "4xA100 80GB"),
        (f"{MOST + 1}xB200", "1xB200"),
        ("0xB200", "1xB200"),
    ],
)
def test_a_wrong_one_is_told_what_is_near(text: str, near: str) -> None:
    with pytest.raises(UsageError) as refused:
        named(text)
    assert refused.value.code == "unknown_gpu"
    assert refused.value.known["gpu"] == near


@pytest.mark.parametrize("text", ["", "8x", "x", "\0", "a abacus of wood", "9" * 400])
def test_what_is_near_nothing_is_told_all_names(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        named(text)
    assert refused.value.known == {}
    assert all(card.name in refused.value.message for card in known())


def test_torch_sees_of_each_card_what_its_file_says() -> None:
    for card in known():
        gpus = named(card.name).gpus
        seen = smallest_memory_gib([gpu.memory_mib for gpu in gpus])
        assert seen is not None and 0 <= seen - card.torch_gib < 0.002
        assert re.fullmatch(r"\d+\.\d", gpus[0].compute_cap or "")
        assert card.source


def test_no_two_cards_go_by_one_name() -> None:
    names = [re.sub("[^a-z0-9]", "", name.lower()) for card in known() for name in (card.name, *card.also)]
    assert len(names) == len(set(names))


def test_the_smallest_card_that_is_large_enough() -> None:
    card = holding(90)
    assert card is not None and card.name == "H100 NVL"
    assert holding(1000) is None
