"""What ours says that vLLM makes of config files, against what vLLM itself makes of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchestrator.checkpoint.edits import documents
from orchestrator.engines.vllm.kv_cache import resolved
from tests import yaml_data
from tests.engines.kv_cache.folders import everything, variants
from tests.engines.kv_cache.real import NO_ENGINE, engine_answers
from tests.of_each import of_each

HERE = Path(__file__).parent
RELEASE, OLDER = "0.32.0", ("0.24.0", "0.19.1", "0.16.0")
EXPECTED: dict[str, dict[str, Any]] = yaml_data.load(HERE / "expected.yaml")["folders"]
FOLDERS = everything()
ASKED = [name for name in FOLDERS if name in EXPECTED]
"""All but a published config that another test came by since."""
ANSWERED = [name for name in ASKED if "dtype" in EXPECTED[name]]


def as_ours(dtype: str) -> str:
    """Layers say fp8 of compressed-tensors, which is e4m3 on every card."""
    return "fp8_e4m3" if dtype == "fp8" else dtype


def test_every_form_is_in_the_table_and_most_are_answered() -> None:
    assert set(variants()) <= set(EXPECTED) == set(ASKED)
    assert len(ANSWERED) > 230
    assert {as_ours(EXPECTED[name]["dtype"]) for name in ANSWERED} == {"auto", "fp8_e4m3", "nvfp4"}


@of_each(ANSWERED)
def test_it_is_read_as_vllm_reads_it(name: str) -> None:
    files = documents(FOLDERS[name])
    expected = EXPECTED[name]
    theirs = {RELEASE: expected["dtype"]} | {
        older: expected.get("releases", {}).get(older, expected["dtype"]) for older in OLDER
    }
    # K3's class came after these releases, which take it for a model that they do not know
    asked = {RELEASE} if "kimi-k3" in name else set(theirs)
    assert {v: resolved(files, v) for v in asked} == {v: as_ours(theirs[v]) for v in asked}


@of_each(sorted(variants()))
def test_without_a_version_auto_is_what_every_release_says(name: str) -> None:
    files = documents(FOLDERS[name])
    every = {resolved(files, version) for version in ("0.14.0", "0.16.0", "0.24.0", "0.32.0", "0.33.0")}
    assert (resolved(files, None) == "auto") == (every == {"auto"})


@pytest.mark.engine
@pytest.mark.timeout(600)
@pytest.mark.skipif(NO_ENGINE, reason="DEPLOY_TEST_ENGINE names no engine")
def test_the_table_is_what_the_engine_says(tmp_path: Path) -> None:
    rows = engine_answers(tmp_path, {name: FOLDERS[name] for name in ASKED})
    if rows[0]["release"] != RELEASE:
        pytest.skip(f"the table is of {RELEASE}, the engine is {rows[0]['release']}")
    keys = ("dtype", "method", "mla")
    answers = {row["folder"]: {key: row[key] for key in keys if row.get(key)} for row in rows}
    assert answers == {
        name: {key: EXPECTED[name][key] for key in keys if key in EXPECTED[name]} for name in ASKED
    }
