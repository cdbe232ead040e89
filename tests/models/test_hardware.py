"""What a host's cards ask of a model that leaves it open."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.base.data_folders import shipped
from orchestrator.facts.gpus import Gpus
from orchestrator.facts.topology import FACT as TOPOLOGY
from orchestrator.models.choose import choose
from orchestrator.models.hardware import profile_of, suited_to
from orchestrator.plan.wishes import Wishes
from orchestrator.playbook.playbook import Playbook
from orchestrator.survey.cards import named
from orchestrator.survey.supposed import of_cards
from orchestrator.survey.survey import Survey
from tests.jobs import PATCHES
from tests.plan.hosts import SOCKETS
from tests.surveys import knowing

FOLDERS = (shipped("profiles"),)
OPEN = Playbook(name="x", choose=True, model={"repository": "Qwen/Qwen3-32B"}, figures={
    "weights_bytes": 65_500_000_000,
    "config": {
        "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "num_hidden_layers": 64, "hidden_size": 5120,
        "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 128, "max_position_embeddings": 40960,
    },
})  # fmt: skip


def host(cards: str) -> Survey:
    return of_cards(OPEN, named(cards))


def launched(playbook: Playbook, survey: Survey) -> Playbook:
    profile = profile_of(survey, FOLDERS)
    return choose(
        "gpu7", playbook, None, survey, Wishes(patches=PATCHES, engine_version="0.24.0"), profile
    ).playbook


@pytest.mark.parametrize(
    ("cards", "tensor", "context", "arguments", "environment"),
    [
        ("1xH200", 1, 40960, {}, {}),
        ("8xH200", 1, 40960, {}, {}),
        ("8xRTX 5090", 4, 40960, {}, {"NCCL_P2P_DISABLE": "1"}),
        ("1xGB10", 1, 40960, {"gpu-memory-utilization": 0.85}, {}),
    ],
)
def test_what_is_left_open_is_chosen_by_model_and_cards(
    cards: str, tensor: int, context: int, arguments: dict[str, object], environment: dict[str, str]
) -> None:
    playbook = launched(OPEN, host(cards))
    assert (playbook.parallel.tensor, playbook.context) == (tensor, context)
    parsers = {"tool-call-parser": "hermes", "enable-auto-tool-choice": True, "reasoning-parser": "qwen3"}
    assert playbook.arguments == {**parsers, **arguments}
    assert {name: item.plain for name, item in playbook.environment.items()} == environment
    assert all(item.reason for item in playbook.environment.values())


def test_what_a_playbook_or_an_option_says_stays() -> None:
    asked = OPEN.with_overrides(
        ["parallel.tensor=2", "context=8192", "arguments.reasoning-parser=null"], [], ["NCCL_P2P_DISABLE=0"]
    )
    playbook = launched(asked, host("8xRTX 5090"))
    assert (playbook.parallel.tensor, playbook.context) == (2, 8192)
    assert "reasoning-parser" not in playbook.arguments
    assert playbook.arguments["disable-custom-all-reduce"] is True
    assert playbook.environment["NCCL_P2P_DISABLE"].plain == "0"


def test_what_was_chosen_is_neither_the_playbooks_nor_an_options() -> None:
    asked = OPEN.with_overrides(["context=8192"])
    playbook = launched(asked, host("8xRTX 5090"))
    keys = ("model.repository", "context", "parallel.tensor", "environment.NCCL_P2P_DISABLE", "port")
    origins = [playbook.origin(*key.split(".")) for key in keys]
    assert origins == ["playbook", "option", "chosen", "chosen", "default"]


def test_how_the_cards_are_linked_is_left_to_a_host_that_was_asked() -> None:
    survey = knowing(host("8xRTX PRO 6000"), **{TOPOLOGY.name: SOCKETS})
    profile = profile_of(survey, FOLDERS)
    assert [item.name for item in suited_to(profile, 8, host("8xRTX PRO 6000"))] == [
        "environment.NCCL_P2P_LEVEL"
    ]
    assert list(suited_to(profile, 8, survey)) == []


def test_ones_own_profile_goes_before_the_shipped_one(tmp_path: Path) -> None:
    (tmp_path / "h200.yaml").write_text("description: mine\ncard: H200\nsources: []\n")
    profile = profile_of(host("2xH200"), (tmp_path, *FOLDERS))
    assert profile is not None and profile.description == "mine"


def test_cards_of_two_kinds_have_no_profile() -> None:
    mixed = Gpus((*named("1xH200").gpus, *named("1xB200").gpus))
    assert profile_of(knowing(host("1xH200"), gpus=mixed), FOLDERS) is None


def test_a_card_that_nobody_knows_has_no_profile() -> None:
    (card,) = named("1xH200").gpus
    unknown = Gpus((replace(card, name="NVIDIA T9"),))
    assert profile_of(knowing(host("1xH200"), gpus=unknown), FOLDERS) is None
