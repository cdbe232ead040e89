"""What config.json says of the language model, whatever stands around it."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.checkpoint.architecture import Architecture, read

TEXT = {"num_attention_heads": 64, "max_position_embeddings": 262144}


@pytest.mark.parametrize(
    ("config", "heads", "longest"),
    [
        (TEXT, 64, 262144),
        ({"model_type": "kimi_k25", "text_config": TEXT}, 64, 262144),
        ({"num_attention_heads": 16, "text_config": TEXT}, 64, 262144),
        ({"num_attention_heads": 16, "text_config": "none"}, 16, None),
        ({"num_attention_heads": -1, "max_position_embeddings": True}, None, None),
        ({"num_attention_heads": 10**400}, None, None),
        ({}, None, None),
    ],
)
def test_heads_and_the_longest_request(
    config: dict[str, Any], heads: int | None, longest: int | None
) -> None:
    assert read(config) == Architecture(heads, longest)
