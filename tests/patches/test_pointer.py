"""Where a value of a config file stands, and how patterns see it."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.patches.pointer import (
    TOP,
    Place,
    checked_place,
    checked_pointer,
    kind_of,
    text_of,
    value_at,
)

DOCUMENTS = {
    "config.json": {"a": {"b": [1, {"c": None}]}, "x/y": {"~": "tilde"}, "zero": 0, "": "empty"},
    "hf_quant_config.json": {"producer": {"name": "modelopt"}},
}


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("/a/b/0", 1),
        ("/a/b/1/c", None),
        ("/a/b/2", None),
        ("/a/b/-1", None),
        ("/a/b/00", None),
        ("/a/b/c", None),
        ("/zero/deeper", None),
        ("/x~1y/~0", "tilde"),
        ("hf_quant_config.json#/producer/name", "modelopt"),
        ("generation_config.json#/top_k", None),
        ("./b/0", 1),
    ],
)
def test_what_stands_there(place: str, value: Any) -> None:
    assert value_at(Place("config.json", ("a",)).to(place), DOCUMENTS) == value


def test_from_the_top() -> None:
    assert TOP.to("./zero") == TOP.to("/zero") == Place("config.json", ("zero",))
    assert Place("hf_quant_config.json", ("producer",)).to("./name").file == "hf_quant_config.json"
    assert Place("hf_quant_config.json", ("producer",)).to("/name") == Place("config.json", ("name",))


@pytest.mark.parametrize(
    "pointer", ["", "/", "a", "/a/", "//a", "/a~", "/a~2", "/a\n", "/a" * 21, "/" + "a" * 200]
)
def test_what_is_no_pointer(pointer: str) -> None:
    with pytest.raises(ValueError, match="is no JSON pointer"):
        checked_pointer(pointer)


@pytest.mark.parametrize(
    "place", ["a", "model.py#/a", "#/a", "../config.json#/a", ".a", "hf_quant_config.json#a"]
)
def test_what_is_no_place(place: str) -> None:
    with pytest.raises(ValueError, match=r"is no (?:JSON pointer|config file)"):
        checked_place(place)


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        ({}, "object", "object"), ([], "list", "list"), ("x", "string", "x"), (True, "boolean", "True"), (8, "number", "8"),
        (0.5, "number", "0.5"), (None, None, None),
    ],
)  # fmt: skip
def test_how_it_is_seen(value: Any, kind: str | None, text: str | None) -> None:
    assert (kind_of(value), text_of(value)) == (kind, text)
