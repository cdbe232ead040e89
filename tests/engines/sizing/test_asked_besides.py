"""What vLLM said of rarer models, of KV caches of rarer types, of ranks that share a context, and what older releases said of them.

`answers.jsonl` has rows of `oracle.py`, cut to what is compared; `small/` configs as small as shows each rule, made for it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from orchestrator.engines.kv_cache import CacheQuestion, KvCache
from orchestrator.engines.vllm.sizing.cost import kv_cache
from tests.of_each import of_each

HERE = Path(__file__).parent
ROWS: list[dict[str, Any]] = [json.loads(line) for line in (HERE / "answers.jsonl").read_text().splitlines()]
DTYPES = {"bf16": "auto"}
FIRST_GROUP_ALONE = "0.16.0"
"""Its start-up check counts the first group of layers only, for which a request may be refused later."""


def ask(row: dict[str, Any]) -> KvCache | None:
    folder = next(
        there for there in ("small", "configs") if (HERE / there / f"{row['config']}.json").exists()
    )
    config = json.loads((HERE / folder / f"{row['config']}.json").read_text())
    dtype = DTYPES.get(row["kv"], row["kv"])
    return kv_cache(
        CacheQuestion(
            config,
            row["vllm"],
            dtype,
            row["tensor"],
            row["context"],
            row["capability"],
            memory_gib=140.0,
            state_dtype=row.get("state"),
        )
    )


@of_each(
    ROWS,
    lambda row: "-".join(
        str(row[key]) for key in ("config", "vllm", "tensor", "kv", "context", "state") if key in row
    ),
)
def test_the_engine_said_so(row: dict[str, Any]) -> None:
    cache = ask(row)
    if "refused" in row:
        assert cache is None
        return
    assert cache is not None
    if (
        "_per_token_head" in row["kv"] and row["vllm"] == "0.24.0"
    ):  # its specs name scales only in the whole page
        assert cache.layers[0].each == row["request"][0][1] / 8192 / cache.layers[0].count
    else:
        kinds = [(count, _kind(kind), tokens, each) for count, kind, tokens, each in row["kinds"]]
        ours = [(layers.count, layers.kind, layers.tokens, layers.each) for layers in cache.layers]
        assert sorted(ours, key=str) == sorted(kinds, key=str)
    if row["vllm"] != FIRST_GROUP_ALONE:
        assert [[context, cache.request_bytes(context)] for context, _ in row["request"]] == row["request"]


def _kind(name: str) -> str:
    return "full" if name == "TQFullAttentionSpec" else name


def test_every_small_config_was_asked() -> None:
    assert {path.stem for path in (HERE / "small").iterdir()} <= {row["config"] for row in ROWS}
