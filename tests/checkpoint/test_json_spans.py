from __future__ import annotations

import copy
import json
import math
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from orchestrator.base.errors import CheckpointError
from orchestrator.checkpoint import json_spans

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8)
DOCUMENTS = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)
LAYOUTS = st.fixed_dictionaries(
    {
        "indent": st.sampled_from([None, 0, 1, 2, 4, "\t"]),
        "separators": st.sampled_from([(",", ":"), (", ", ": "), (" ,\r\n ", " : ")]),
        "ensure_ascii": st.booleans(),
    }
)


def members(value: Any, path: json_spans.KeyPath = ()) -> list[json_spans.KeyPath]:
    """Every member of every object, as a path."""
    found: list[json_spans.KeyPath] = []
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in pairs:
        if isinstance(value, dict):
            found.append((*path, key))
        found += members(child, (*path, key))
    return found


def without(value: Any, path: json_spans.KeyPath) -> Any:
    result = copy.deepcopy(value)
    parent = result
    for step in path[:-1]:
        parent = parent[step]
    del parent[path[-1]]
    return result


@settings(max_examples=100)
@given(document=DOCUMENTS, layout=LAYOUTS, data=st.data())
def test_any_member_of_any_document_goes_alone(document: Any, layout: dict, data: Any) -> None:
    paths = members(document)
    assume(paths)
    path = data.draw(st.sampled_from(paths))
    try:
        before = json.dumps(document, **layout).encode()
    except UnicodeEncodeError:
        assume(False)
    after = json_spans.remove(before, path, name="x")
    assert json.loads(after.decode()) == without(document, path)
    assert is_one_cut(before, after)
    nulled = json_spans.put(before, path, None, name="x")
    gone = json.loads(nulled.decode())
    for step in path:
        gone = gone[step]
    assert gone is None
    assert without(json.loads(nulled.decode()), path) == without(document, path)


def is_one_cut(before: bytes, after: bytes) -> bool:
    """Whether `after` is `before` with one run of bytes taken out."""
    same = next((i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), len(after))
    rest = len(after) - same
    return len(after) < len(before) and (rest == 0 or after[same:] == before[-rest:])


@pytest.mark.parametrize(
    ("before", "path", "after"),
    [
        (b'{"a": 1, "b": 2}', ("a",), b'{"b": 2}'),
        (b'{"a": 1, "b": 2}', ("b",), b'{"a": 1}'),
        (b'{ "a" : 1 }', ("a",), b"{}"),
        (b'{\r\n  "a": 1,\r\n  "b": 2\r\n}', ("a",), b'{\r\n  "b": 2\r\n}'),
        (
            b'{"a": {"b": [1, {"c": 2}]}, "d": 3}',
            ("a", "b", 1, "c"),
            b'{"a": {"b": [1, {}]}, "d": 3}',
        ),
        (b'{"\\u0061": 1, "b": NaN}', ("a",), b'{"b": NaN}'),
        (b'{"a": 1, "b": {"a": 1, "a": 2}}', ("a",), b'{"b": {"a": 1, "a": 2}}'),
    ],
)
def test_the_cut_is_minimal(before: bytes, path: json_spans.KeyPath, after: bytes) -> None:
    assert json_spans.remove(before, path, name="x") == after


def test_null_replaces_the_value_alone() -> None:
    before = b'{"a" :\t{"x": [1, 2]} , "b": 1e308}'
    assert json_spans.put(before, ("a",), None, name="x") == b'{"a" :\tnull , "b": 1e308}'


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (b'{\n  "a": 1,\n  "a": 2\n}', "line 3 column 3: 'a' stands twice"),
        (b'{"a": 1,\n ]', "line 2 column 2: not JSON"),
        (b'{"a": "\xff"}', "line 1 column 8: not UTF-8"),
        (b'{"a": 1}\n\nrest', "line 3 column 1: not JSON"),
        ('{"a": 1}'.encode("utf-16"), "line 1 column 1: not UTF-8"),
        ('{"a": 1}'.encode("utf-8-sig"), "line 1 column 1: begins with a byte order mark"),
        (b'{"a": ' + b"[" * 200_000 + b"]" * 200_000 + b"}", "nested too deeply"),
        (b'{"a": ' + b"9" * 5000 + b"}", "not readable"),
    ],
)
def test_what_cannot_be_edited_safely_is_named_with_its_place(text: bytes, place: str) -> None:
    with pytest.raises(CheckpointError) as error:
        json_spans.remove(text, ("a",), name="config.json")
    assert error.value.code == "config_broken"
    assert place in error.value.message


def test_a_member_that_is_not_there_is_an_error() -> None:
    with pytest.raises(CheckpointError, match="has no 'b'"):
        json_spans.remove(b'{"a": 1}', ("b",), name="x")


def test_megabytes_are_edited_with_the_numbers_as_they_were() -> None:
    layers = ",\n".join(
        f'    "layer.{n}": {{"scale": 1.0e-{n % 300}, "on": [true, false]}}' for n in range(20_000)
    )
    before = ('{\n  "layers": {\n' + layers + '\n  },\n  "kv": "FP8"\n}').encode()
    assert json_spans.remove(before, ("kv",), name="x") == before.replace(b',\n  "kv": "FP8"', b"")


def test_not_a_number_is_read_as_python_reads_it() -> None:
    assert math.isnan(json_spans.value(b'{"a": NaN}', name="x")["a"])


@pytest.mark.parametrize(
    ("before", "path", "after"),
    [
        (b"{}", ("a",), b'{"a": 1}'),
        (b'{"b": 2}', ("a",), b'{"a": 1, "b": 2}'),
        (b'{\n  "b": 2\n}', ("a",), b'{\n  "a": 1,\n  "b": 2\n}'),
        (b'{"x": [{"b": 2}]}', ("x", 0, "a"), b'{"x": [{"a": 1, "b": 2}]}'),
        (b'{"x": [7, 8]}', ("x", 1), b'{"x": [7, 1]}'),
    ],
)
def test_a_new_member_stands_first_and_takes_the_layout_of_the_others(
    before: bytes, path: json_spans.KeyPath, after: bytes
) -> None:
    assert json_spans.put(before, path, 1, name="x") == after


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (("list", "a"), "config.json has no room for a new 'a' there"),
        (("list", 7), "config.json has no room for a new 7 there"),
        (("missing", "a"), "config.json has no 'missing' where one was expected"),
        (("list", "0", "a"), "config.json has no '0' where one was expected"),
        (("twice", "a"), "config.json, line 1 column 25: 'twice' stands twice in one object"),
    ],
)
def test_where_nothing_can_be_put_is_told_with_the_files_name(path: json_spans.KeyPath, message: str) -> None:
    before = b'{"list": [{}], "twice": 1, "twice": {}}'
    with pytest.raises(CheckpointError) as caught:
        json_spans.put(before, path, 1, name="config.json")
    assert caught.value.code == "config_broken"
    assert message.partition(", line")[0] in caught.value.message
    assert message.rpartition(": ")[2] in caught.value.message


def test_what_is_no_json_is_not_written() -> None:
    with pytest.raises(ValueError, match="JSON"):
        json_spans.put(b'{"a": 1}', ("a",), math.nan, name="x")


@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}")])
def test_the_deepest_document_is_read_and_one_level_more_is_not(opening: bytes, closing: bytes) -> None:
    deepest = json_spans.DEEPEST
    json_spans.decode(opening * deepest + b"1" + closing * deepest, name="x")
    with pytest.raises(CheckpointError, match=f"nested too deeply to be read, more than {deepest} levels"):
        json_spans.decode(opening * (deepest + 1) + b"1" + closing * (deepest + 1), name="x")
