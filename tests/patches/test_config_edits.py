"""Which edits a patch's declarations come to: of any member, under any condition on the files."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.base.errors import CheckpointError
from orchestrator.patches.action import Action
from orchestrator.patches.config_edits import proposed
from orchestrator.patches.known import Known

CONFIG: dict[str, Any] = {
    "model_type": "llama",
    "rope_scaling": {"type": "yarn", "factor": 4},
    "layers": [{"kind": "full"}, {"kind": "full"}],
    "nothing": None,
    "flag": True,
    "whole": {"deep": {"auto_map": {"AutoModel": "x.Y"}}},
}


def edits(files: dict[str, Any] | None = None, **action: Any) -> list[tuple[str, Any]]:
    declared = Action.model_validate({"kind": "config", "file": "config.json", **action})
    documents = {"config.json": CONFIG} if files is None else files
    found = proposed(declared, Known(documents=documents))
    return [(edit.path or "", edit.value) for edit in found]


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        ({"path": "/rope_scaling", "op": "remove"}, [("/rope_scaling", None)]),
        ({"path": "/missing", "op": "remove"}, []),
        ({"path": "/nothing", "op": "remove"}, []),  # null says nothing
        ({"path": "/missing/deep", "op": "remove"}, []),
        ({"path": "/rope_scaling/factor", "op": "set", "value": 8}, [("/rope_scaling/factor", 8)]),
        ({"path": "/rope_scaling/factor", "op": "set", "value": 4}, []),
        ({"path": "/rope_scaling/factor", "op": "set", "value": 4.0}, [("/rope_scaling/factor", 4.0)]),
        ({"path": "/flag", "op": "set", "value": 1}, [("/flag", 1)]),
        ({"path": "/nothing", "op": "set", "value": None}, []),
        ({"path": "/new", "op": "set", "value": None}, [("/new", None)]),
        ({"path": "/missing/new", "op": "set", "value": 1}, []),
        ({"path": "/layers/1/kind", "op": "set", "value": "sliding"}, [("/layers/1/kind", "sliding")]),
        ({"path": "/layers/7/kind", "op": "set", "value": "sliding"}, []),
        ({"path": "/layers/2", "op": "set", "value": {}}, []),  # no element is added
        ({"within": ["/layers/0", "/layers/1"], "path": "/kind", "op": "remove"}, [("/layers/0/kind", None), ("/layers/1/kind", None)]),
        ({"path": "/flag", "op": "remove", "when": {"config": {"/model_type": "LLAMA"}}}, [("/flag", None)]),
        ({"path": "/flag", "op": "remove", "when": {"config": {"/model_type": "!llama"}}}, []),
        ({"path": "/flag", "op": "remove", "when": {"config": {"/missing": "!llama", "/flag": True, "/layers": "list"}}}, [("/flag", None)]),
        ({"path": "/flag", "op": "remove", "unless": [{"config": {"/missing": None}}]}, []),
        ({"path": "/flag", "op": "remove", "when": {"config": {"hf_quant_config.json#/x": "*"}}}, []),
        ({"within": "/rope_scaling", "path": "/factor", "op": "remove", "when": {"config": {"./type": "yarn"}}}, [("/rope_scaling/factor", None)]),
        ({"file": "generation_config.json", "path": "/temperature", "op": "set", "value": 1}, []),  # no such file
    ],
)  # fmt: skip
def test_what_is_edited(action: dict[str, Any], expected: list[tuple[str, Any]]) -> None:
    found = edits(**action)
    assert found == expected
    assert [type(value) for _, value in found] == [type(value) for _, value in expected]


@pytest.mark.parametrize(
    ("action", "says"),
    [
        ({"path": "/model_type/x", "op": "remove"}, "config.json has a string as model_type"),
        ({"path": "/layers/x", "op": "remove"}, "config.json has a list as layers"),
        ({"path": "/rope_scaling", "op": "remove", "expects": ["string", "number"]}, "has an object as rope_scaling"),
        ({"path": "/whole", "op": "remove"}, "holds auto_map within whole"),
        ({"path": "/whole/deep", "op": "set", "value": {}}, "holds auto_map within deep"),
        ({"path": "/flag", "op": "remove", "refuse": [{"says": "is of {/model_type}"}]}, "config.json is of llama; what"),
    ],
)  # fmt: skip
def test_what_nobody_knows_the_meaning_of_is_refused(action: dict[str, Any], says: str) -> None:
    with pytest.raises(CheckpointError, match=says) as refusal:
        edits(**action)
    assert refusal.value.code == "config_shape"


def test_where_an_edit_is_known_to_do_harm_the_error_knows_what_is_given_instead() -> None:
    harmful = {"says": "is of {/model_type}", "instead": "kv-cache-dtype=bfloat16"}
    with pytest.raises(CheckpointError, match=r"^config\.json is of llama, so nothing is edited$") as refusal:
        edits(path="/flag", op="remove", refuse=[harmful])
    assert (refusal.value.code, refusal.value.known) == (
        "config_shape",
        {"argument": "kv-cache-dtype=bfloat16"},
    )


def test_a_form_is_refused_only_where_something_would_be_edited() -> None:
    assert edits(path="/missing", op="remove", refuse=[{"says": "is odd"}]) == []
    unknown = {"when": {"config": {"/model_type": "qwen*"}}, "says": "is odd"}
    assert edits(path="/flag", op="remove", refuse=[unknown]) == [("/flag", None)]


def test_without_files_the_common_place_is_told() -> None:
    declared = {
        "kind": "config",
        "file": "config.json",
        "path": ["/a", "/b"],
        "within": ["/x", "/y"],
        "op": "remove",
    }
    told = proposed(Action.model_validate(declared), Known())
    assert [edit.model_dump() for edit in told] == [
        {"kind": "config", "file": "config.json", "path": "/x/a", "op": "remove"}
    ]
    special = {**declared, "when": {"config": {"./a": "*"}}}
    assert proposed(Action.model_validate(special), Known()) == ()
    forbidden = {**declared, "unless": {"config": {"./a": None}}}
    assert len(proposed(Action.model_validate(forbidden), Known())) == 1
