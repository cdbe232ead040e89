"""The stand-in engine reads a checkpoint's metadata as the release does, and as our own reading foresees."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from orchestrator.checkpoint.edits import documents
from orchestrator.engines.vllm.kv_cache import resolved
from orchestrator.rehearsal.stand_in import VERSION, settings

CASES = Path(__file__).parents[1] / "checkpoint" / "cases"
REFUSED = "matrix-f-sidecar-only-key-gone"
LAYERS = "shape-j-compressed-tensors-gqa"
"""Decided by the attention layers of a model without MLA, not by the metadata that is resolved first."""
FOLDERS = [
    folder
    for kind in ("matrix", "shape")
    for folder in sorted(CASES.glob(f"{kind}-*"))
    if folder.name != LAYERS
]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_it_agrees_with_our_reading(folder: Path) -> None:
    files = {path.name: path.read_bytes() for path in folder.glob("*config.json")}
    config = json.loads(files["config.json"])
    if folder.name == REFUSED:
        with pytest.raises(ValueError, match="kv_cache_quant_algo"):
            settings.declared_kv_dtype(folder, config)
        return
    assert settings.declared_kv_dtype(folder, config) == resolved(documents(files), VERSION)


def test_options_are_read_as_the_release_spells_them() -> None:
    argv = ["--model", "/m", "--trust-remote-code", "--max-model-len=8192", "--port", "8001"]
    assert settings.arguments(argv) == {
        "model": "/m",
        "trust_remote_code": True,
        "max_model_len": "8192",
        "port": "8001",
    }


@pytest.mark.parametrize(
    ("argv", "place"),
    [
        (["--tensor-parallel-size", "4", "--pipeline-parallel-size", "2", "--nnodes", "2", "--node-rank", "1", "--master-port", "7"],
         (2, 1, range(4, 8), 7)),
        (["--tensor-parallel-size", "4", "--data-parallel-size", "4", "--data-parallel-size-local", "2", "--data-parallel-start-rank", "2",
          "--data-parallel-rpc-port", "8"], (2, 1, range(4), 8)),
        (["--tensor-parallel-size", "4"], (1, 0, range(4), 29501)),
    ],
    ids=["one copy over hosts", "copies on hosts", "one host"],
)  # fmt: skip
def test_a_host_knows_its_place(argv: list[str], place: tuple[object, ...]) -> None:
    told = settings.StandInSettings(settings.arguments(["serve", "/m", *argv]), {}, "auto", "")
    assert (told.nodes, told.node, told.own, told.meeting_port) == place
    assert told.model == "/m"


@pytest.mark.parametrize(("visible", "cards"), [("", [0, 1]), ("4,6", [4, 6])], ids=["all", "some"])
def test_its_ranks_are_on_the_cards_that_it_may_use(
    visible: str, cards: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    folder = CASES / next(folder for folder in FOLDERS if folder.name != REFUSED)
    told = settings.read(["serve", str(folder), "--tensor-parallel-size", "2"])
    assert [told.card(rank) for rank in told.own] == cards
