"""Any member of a config file can be set or taken away, and nothing else changes."""

from __future__ import annotations

import copy
import json
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.base.errors import CheckpointError
from orchestrator.checkpoint.edits import Edit, carry_out, documents, unified_diff

CONFIG = b"""{
  "rope_scaling": {"type": "yarn", "factor": 4e1},
  "layer_types": ["full", "full"],
  "a/b": 1,
  "empty": {}
}"""


def edited(path: str, op: Literal["set", "remove"], value: Any = None) -> bytes:
    return carry_out({"config.json": CONFIG}, [Edit("config.json", path, op, value)]).after["config.json"]


@pytest.mark.parametrize(
    ("path", "value", "old", "new"),
    [
        ("/rope_scaling/factor", 32.5, b"4e1", b"32.5"),
        ("/layer_types/1", "sliding", b'"full", "full"', b'"full", "sliding"'),
        ("/a~1b", {"c": [1, None]}, b'"a/b": 1', b'"a/b": {"c": [1, null]}'),
        ("/new", True, b'{\n  "rope', b'{\n  "new": true,\n  "rope'),
        ("/rope_scaling/new", 1, b'{"type"', b'{"new": 1, "type"'),
        ("/empty/new", "x", b'"empty": {}', b'"empty": {"new": "x"}'),
    ],
)
def test_a_member_is_set(path: str, value: Any, old: bytes, new: bytes) -> None:
    assert edited(path, "set", value) == CONFIG.replace(old, new)


def test_a_member_is_taken_away() -> None:
    assert edited("/layer_types/0", "remove") == CONFIG.replace(b'"full", ', b"")
    assert edited("/rope_scaling/type", "remove") == CONFIG.replace(b'"type": "yarn", ', b"")


@pytest.mark.parametrize("path", ["/layer_types/2", "/layer_types/new", "/missing/new", "/a~1b/new"])
def test_there_must_be_room_for_it(path: str) -> None:
    with pytest.raises(CheckpointError):
        edited(path, "set", 1)


def test_edits_build_on_each_other_and_the_file_that_decides_comes_first() -> None:
    files = {"hf_quant_config.json": b'{"x": 1}', "config.json": b'{"a": {"b": 1, "c": 2}}'}
    edits = carry_out(
        files,
        [
            Edit("hf_quant_config.json", "/x", "set", None),
            Edit("config.json", "/a/b", "remove"),
            Edit("config.json", "/a/d", "set", 3),
        ],
    )
    assert list(edits.after) == ["config.json", "hf_quant_config.json"]
    assert json.loads(edits.after["config.json"]) == {"a": {"c": 2, "d": 3}}
    assert edits.before == files
    assert "+++ b/hf_quant_config.json" in unified_diff(edits)


def test_a_file_that_holds_no_object_is_named() -> None:
    with pytest.raises(CheckpointError, match=r"generation_config\.json holds a list"):
        documents({"generation_config.json": b"[]"})


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(data=st.data(), indent=st.sampled_from([None, 2, "\t"]), value=VALUES, new=st.booleans())
def test_any_member_of_any_file(data: st.DataObject, indent: int | str | None, value: Any, new: bool) -> None:
    document = data.draw(st.dictionaries(st.text(max_size=3), VALUES, min_size=1, max_size=4))
    expected = copy.deepcopy(document)
    place, pointer = expected, ""
    while True:
        step = data.draw(st.sampled_from(list(place) if isinstance(place, dict) else range(len(place))))
        pointer += "/" + str(step).replace("~", "~0").replace("/", "~1")
        inner = place[step]
        if not (isinstance(inner, (dict, list)) and inner and data.draw(st.booleans())):
            break
        place = inner
    files = {"config.json": json.dumps(document, indent=indent).encode()}
    if new and isinstance(place, dict):
        step, pointer = "brand-new", pointer.rpartition("/")[0] + "/brand-new"
    place[step] = value
    after = carry_out(files, [Edit("config.json", pointer, "set", value)]).after["config.json"]
    assert json.loads(after) == expected
    del place[step]
    gone = carry_out({"config.json": after}, [Edit("config.json", pointer, "remove")]).after["config.json"]
    assert json.loads(gone) == expected
