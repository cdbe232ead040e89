"""Whatever a YAML text is, reading it gives a value or says on which line it is wrong, soon and in little memory."""

from __future__ import annotations

import math
import resource
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.base import yaml_text
from orchestrator.base.yaml_text import Excessive, Wrong


def piled_up(first: str, layer: str) -> str:
    """Eight layers, each of which names the one before nine times: 43 million values in nine lines."""
    lines = [f"a: &a {first}"]
    for below, name in zip("abcdefgh", "bcdefghi", strict=True):
        lines.append(f"{name}: &{name} {layer.replace('*', ', '.join([f'*{below}'] * 9))}")
    return "\n".join(lines)


TOO_MUCH = {
    "aliases of aliases": (piled_up("[x, x]", "[*]"), 6, "holds more than 20,000 values"),
    "merges of merges": (piled_up("{x: 1}", "{<<: [*]}"), 6, "holds more than 20,000 values"),
    "mappings of mappings": (
        piled_up("{x: 1}", "{x: [*], y: [*]}"), 5, "holds more than 20,000 values"),
    "merged into itself": ("name: x\nall: &all\n  <<: *all\n", 3, "*all stands inside of what it refers to"),
    "an item of itself": ("all: &all [1, *all]", 1, "*all stands inside of what it refers to"),
    "a value of itself two levels up": ("a: &a\n  b:\n    c: *a\n", 3, "*a stands inside of what it refers to"),
    "brackets": ("\nx: " + "[" * 5000, 2, "is nested too deep; allowed: 40 levels"),
    "closed brackets": ("[" * 5000 + "]" * 5000, 1, "is nested too deep"),
    "braces": ("{a: " * 5000, 1, "is nested too deep"),
    "dashes": ("- " * 5000, 1, "is nested too deep"),
    "questions": ("? " * 5000, 1, "is nested too deep"),
    "a long list": ("x:\n" + "- 1\n" * 30_000, 20_000, "holds more than 20,000 values"),
}  # fmt: skip


@pytest.mark.parametrize("name", TOO_MUCH)
def test_more_than_anybody_means(name: str) -> None:
    text, line, said = TOO_MUCH[name]
    before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    with pytest.raises(Excessive) as caught:
        yaml_text.read(text)
    assert said in caught.value.reason
    assert caught.value.line is not None and abs(caught.value.line - line) <= 1
    assert time.process_time() - began < 20  # seconds of this process alone; without a bound there is no end
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # KiB


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("a: 1\nb: " + "9" * 5000, 2, "is no value (Exceeds the limit"),
        ("a: 2026-13-45", 1, "is no value (month must be in 1..12)"),
        ("a: !!int many", 1, "is no value"),
        ("a: !!bool many", 1, "is no value"),
        ("a: 1\nb: !!python/object/apply:os.system [id]", 2, "has the tag tag:yaml.org,2002:python/object"),
        ("a: !!binary aGVsbG8=", 1, "has the tag"),
        ("a: !!set {b, c}", 1, "has the tag"),
        ("!mine\na: 1", 1, "has the tag !mine; allowed: no tags"),
        ("%TAG ! tag:example,2000:\n---\na: !x 1", 3, "has the tag tag:example,2000:x"),
        ("%YAML 1.1\n---\na: on", 2, "is YAML 1.1; allowed: 1.2"),
        ("--- {a: 1}\n--- {a: 2}", 2, "but found another document"),
        ("? [a, b]\n: 1", 1, "has a list or mapping as a key"),
        ("? {a: b}\n: 1", 1, "has a list or mapping as a key"),
        ("a: 1\nb: {a: 1, a: 2}", 2, "a: is given twice; allowed: once"),
        ("1: a\n1.0: b", 2, "1.0: is given twice"),
        ("a: 1\nb: \0", 2, "U+0000 may not stand in it"),
        ('a: "\\ud800"', 1, "holds half a character"),
        ("a: *none", 1, "found undefined alias"),
        ("<<: 3", 1, "expected a mapping or list of mappings"),
        ("a:\n\tb: 1", 2, "cannot start any token"),
    ],
)
def test_a_wrong_text_is_told_by_its_line(text: str, line: int, said: str) -> None:
    with pytest.raises(Wrong) as caught:
        yaml_text.read(text)
    assert said in caught.value.reason
    assert caught.value.line == line


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("\ufeffa: 1", {"a": 1}),
        ("a: &x {k: 1, l: 2}\nb: {<<: *x, k: 3}\nc: *x", {"a": {"k": 1, "l": 2}, "b": {"k": 3, "l": 2}, "c": {"k": 1, "l": 2}}),
        ("a: &x 1\nb: &x 2\nc: *x", {"a": 1, "b": 2, "c": 2}),
        ("2026-02-25: 2026-02-25T10:00:00", {"2026-02-25": "2026-02-25T10:00:00"}),
        ("a: on\nb: 010\nc: 0x1f\nd: 1:30\ne: ~", {"a": "on", "b": 10, "c": 31, "d": "1:30", "e": None}),
        ("[.inf, -.inf, 1e999]", [math.inf, -math.inf, math.inf]),
        ("[!!str 3, !!int '3']", ["3", 3]),
    ],
)  # fmt: skip
def test_what_people_write(text: str, value: object) -> None:
    assert yaml_text.read(text).value == value


def test_what_is_as_deep_as_allowed() -> None:
    assert yaml_text.read("x: " + "[" * 39 + "]" * 39).value["x"]


def test_where_a_value_stands() -> None:
    document = yaml_text.read("a: &a\n  b: 1\nc:\n  <<: *a\n  d:\n    - x\n    - {e: 2}\n")
    assert document.place(("c", "d", 1, "e")) == (("c", "d", 1, "e"), 7)
    assert document.place(("c", "b")) == (("c", "b"), 2)
    assert document.place(("c", "missing")) == (("c", "missing"), 3)


PIECES = st.sampled_from(
    ["a: ", "&a ", "*a", "- ", "? ", ": ", "{", "}", "[", "]", ", ", "\n", "  ", "'", '"', "|\n", ">-\n", "<<: ", "!!", "!x ", "%YAML 1.1", "---", "...",
     "~", "1", "1e9", ".inf", "2026-02-25", "0x", "\\", "#", "\t", "é", "\x85", "\u2028", "\ufeff", "\0", "int ", "=", "true"]
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES, max_size=30).map("".join) | st.text(max_size=50))
def test_no_text_does_more_than_be_wrong(text: str) -> None:
    try:
        yaml_text.read(text).place(("a", 0, "b"))
    except Wrong as error:
        assert error.line is None or 1 <= error.line <= text.count("\n") + 3
