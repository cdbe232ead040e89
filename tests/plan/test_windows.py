"""Which launches that died were foreseeable, by what was known before them: at least forty kinds of them, each from a log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from orchestrator.base.data_folders import shipped
from orchestrator.engines.kv_cache import CacheQuestion
from orchestrator.engines.vllm.engine import ENGINE
from orchestrator.engines.vllm.log import portrait
from orchestrator.patches import catalogue, propose
from orchestrator.patches.known import Known
from orchestrator.plan.change import worked_out
from orchestrator.plan.predict import may_be_foreseen
from orchestrator.plan.windows import as_here, holds, instead, window_of
from tests import yaml_data
from tests.of_each import of_each

ROWS: dict[str, list[dict[str, Any]]] = yaml_data.load(Path(__file__).with_name("predictions.yaml"))
PATCHES = {f"{patch.category}/{patch.id}": patch for patch in catalogue.load([shipped("patches")])}
LOGS = Path(__file__).parents[1] / "diagnosis" / "cases"
CASES = [
    pytest.param(name, row, id=f"{name.partition('/')[2]}:{row['case']}:{number}")
    for name, rows in ROWS.items()
    for number, row in enumerate(rows)
]
ENOUGH = 40


def merged(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Both as one, with what is null in the upper one taken away."""
    both = {**under, **over}
    return {key: value for key, value in both.items() if value is not None}


@cache
def labels_of(name: str) -> dict[str, dict[str, Any]]:
    labels: dict[str, dict[str, Any]] = yaml_data.load(LOGS / name / "cases.yaml")
    return labels


def log_of(name: str, case: str) -> tuple[dict[str, Any], dict[str, str]]:
    """What is known of a launch that died, and its arguments, as its log lists them."""
    label = labels_of(name)[case]
    assert label["verdict"] in ("fault", "hang") and "patch" not in label
    arguments: dict[str, str] = {}
    for line in (LOGS / name / f"{case}.log").read_text(errors="replace").splitlines():
        if "args: " in line:
            arguments.update(portrait.of_a_milestone(line).arguments or {})
        arguments.update(portrait.commanded(line) or {})
    return dict(label.get("context", {})), arguments


def known_before(name: str, row: Mapping[str, Any], otherwise: Mapping[str, Any]) -> Known:
    """What was known before it, with one thing otherwise."""
    context, listed = log_of(name, row["case"])
    given = {**row, **{key: value for key, value in otherwise.items() if not isinstance(value, dict)}}

    def part(key: str) -> dict[str, Any]:
        return merged(given.get(key) or {}, otherwise.get(key) or {})

    arguments = merged(merged(listed, given.get("arguments") or {}), otherwise.get("arguments") or {})
    config = None if given.get("config") is None else part("config")
    documents = None if config is None else {"config.json": config, **part("files")}
    version, cap = (
        given.get("version", context.get("vllm_version")),
        given.get("compute_cap", context.get("compute_cap")),
    )
    texts = {key: str(value) for key, value in arguments.items()}
    declared = "auto" if documents is None else ENGINE.cache_type.declared(documents, version)
    asked = texts.get("kv_cache_dtype", "auto")
    cache = (
        None if config is None else ENGINE.kv_cache(CacheQuestion(config, version, "auto", compute_cap="9.0"))
    )
    return Known(
        kind="vllm",
        version=version,
        compute_cap=cap,
        gpus=given.get("gpus", context.get("gpus")),
        arguments=texts,
        attention=given.get("attention", cache.attention if cache else None),
        cache_type=declared,
        documents=documents,
        model={} if documents is None else ENGINE.model(documents, version),
        host={
            key: str(value) for key, value in merged({"device": "cuda"} if cap else {}, part("host")).items()
        },
        variables={key: str(value) for key, value in part("variables").items()},
        engine={"kv_cache_dtype": asked if asked != "auto" else declared or "auto"},
    )


@pytest.mark.parametrize(("name", "row"), CASES)
def test_a_launch_that_died_was_foreseeable(name: str, row: dict[str, Any]) -> None:
    known, patch = known_before(name, row, {}), PATCHES[name]
    window = window_of(patch, known)
    assert window is not None and window.certainty == row["foreseen"], known
    evidence = ", ".join(as_here(window, known, "vLLM"))
    assert evidence.startswith("vLLM ") or not window.vllm
    assert evidence == row.get("evidence", evidence)
    ways = [way for way in propose.ways(patch, known) if may_be_foreseen(way)]
    assert instead(window, known) == row.get("instead", instead(window, known))
    if "changes" in row:
        change = worked_out(ways[0], patch, why="certain", evidence=evidence, configs={})
        assert {**change.flags, **change.environment} == row["changes"]


def others() -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    for name, rows in ROWS.items():
        for row in rows:
            for otherwise in row["otherwise"]:
                yield name, row, otherwise


@of_each(others())
def test_where_it_would_not_have_died_nothing_is_foreseen(
    other: tuple[str, dict[str, Any], dict[str, Any]],
) -> None:
    name, row, otherwise = other
    assert window_of(PATCHES[name], known_before(name, row, otherwise)) is None


def test_what_is_refused_leads_to_a_setting_with_which_nothing_is_foreseen() -> None:
    """Where a window names one of vLLM's own options or the ranks of a layer."""
    judged = 0
    for name, rows in ROWS.items():
        for row in rows:
            known = known_before(name, row, {})
            window = window_of(PATCHES[name], known)
            key, _, value = (instead(window, known) or "" if window else "").partition("=")
            option = {"parallel.tensor": "tensor_parallel_size"}.get(key, key.removeprefix("arguments."))
            if not key:
                continue
            then = {option.replace("-", "_"): {"null": None, "true": "True"}.get(value, value)}
            assert window_of(PATCHES[name], known_before(name, row, {"arguments": then})) is None, name
            judged += 1
    assert judged > 10


@pytest.mark.parametrize("name", ROWS)
def test_every_window_of_a_patch_holds_for_some_row(name: str) -> None:
    known = [known_before(name, row, {}) for row in ROWS[name]]
    idle = [window for window in PATCHES[name].window if not any(holds(window, each) for each in known)]
    assert idle == []


def test_every_patch_with_a_window_has_rows_and_enough_patches_predict() -> None:
    assert {name for name, patch in PATCHES.items() if patch.window} == ROWS.keys()
    assert len(ROWS) >= ENOUGH
