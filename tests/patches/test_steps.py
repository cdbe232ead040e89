"""The bound of what an expression can cost is above what it does cost, and small for those that read logs."""

from __future__ import annotations

import math
import re
import time

import pytest

from orchestrator.base.data_folders import shipped
from orchestrator.patches import catalogue
from orchestrator.patches.literals import SEEN, search
from orchestrator.patches.steps import most_steps
from orchestrator.patches.wanted import MOST_STEPS, MOST_STEPS_OF_A_LINE
from tests.bench.expressions import attacks, of_the_patches

ENOUGH_SECONDS = 1.0
"""Of processor time: thirty times what is allowed."""


@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)+$",
        "(a*)*b",
        "(a|a)*b",
        "(a|aa)+$",
        "(.*)*x",
        "(?:.*,){12}x",
        r"(\w+\s?)*$",
        "([a-z]+)*[0-9]",
        "^(([a-z])+.)+[A-Z]([a-z])+$",
        "(x+x+)+y",
        "(a{1,100}){1,100}b",
        "(?:a?){30}a{30}",
        "(?:ab?c?b?)+d",
        r"(?=(a+)+$)a",
        r"(?!(a+)+$)b",
        r"(?<=c)(a+)+$",
        r"(?:(a)|b)*(?(1)(a+)+$|c)",
        "(?i)(A+)+$",
        "(?s)(.+)+x",
        r"(?m)^(\s*\w*)*$",
        r"(a+)(?:\1)+b",
        ".*a.*b.*c",
        r"(?:\w+\.)*\w+Error",
        r"CUDA_ERROR_\w+[\s\S]*/jit/",
        r"\s+$",
        "é+é+é+$",
    ],
)
def test_an_expression_that_can_be_kept_busy(pattern: str) -> None:
    assert most_steps(pattern, SEEN) > MOST_STEPS


@pytest.mark.parametrize(
    "pattern",
    [
        "out of memory",
        "need (?P<length>[0-9]{1,12})",
        r"Killed process \d{1,10}",
        "Available memory .{0,200} is less",
        r"'(?:[^'\\]|\\.){0,200}'",
        r"^(?:[A-Za-z_]\w*\.)*[A-Z]",
        r"No such file or directory: '(?:[^'/]{0,120}/){0,24}[\w.-]{1,120}\.safetensors'",
        r"(?i)cuda error(?: \d+)?: .{0,100}peer",
        "(?:foo|bar|baz){3}",
        r"(?<!x)undefined symbol: \w{1,200}(?= in |$)",
        "first.*",
    ],
)
def test_an_expression_that_cannot(pattern: str) -> None:
    assert most_steps(pattern, SEEN) < MOST_STEPS


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("foo.*bar", "foo" * 2000),
        (r"\w+Error", "a" * 6000),
        ("a.{0,50}b.{0,50}c", "ab" * 3000),
        ("(?:ab?){0,6}c", "ab" * 3000),
        (r"(?:\w+\.)+\d", "ab." * 2000),
    ],
)
def test_the_bound_is_above_what_is_measured(pattern: str, text: str) -> None:
    began = time.process_time()
    re.search(pattern, text)
    # the engine takes far more than a third of a nanosecond for a step
    assert most_steps(pattern, len(text)) > (time.process_time() - began) * 1e9 / 30


def test_of_a_long_text_the_beginning_and_the_end_are_seen() -> None:
    text = "begin " + "x" * 100_000 + " needle " + "x" * 100_000 + " end"
    assert search("^begin", text)
    assert search(" end$", text)
    assert search("needle", text) is None
    assert search("begin x{3990,}", text)
    assert search("x{4000}", text) is None


def test_what_is_seen_is_bounded_where_the_word_is_there() -> None:
    began = time.process_time()
    assert search(r"CUDA_ERROR_[A-Z][\s\S]{0,600}/jit/", "CUDA_ERROR_" * 100_000) is None
    assert time.process_time() - began < ENOUGH_SECONDS


def test_no_shipped_expression_can_be_kept_busy() -> None:
    for patch in catalogue.load([shipped("patches")]):
        for match in patch.match:
            assert match.pattern is None or most_steps(match.pattern, SEEN) <= MOST_STEPS, patch.id
            assert all(most_steps(each, SEEN) <= MOST_STEPS_OF_A_LINE for each in match.watched), patch.id


def test_texts_made_of_its_own_words_do_not_keep_a_shipped_expression_busy() -> None:
    for pattern, where in of_the_patches().items():
        compiled = re.compile(pattern)
        for text in dict.fromkeys(attacks(pattern, 0, SEEN)):
            began = time.process_time()
            compiled.search(text)
            assert time.process_time() - began < ENOUGH_SECONDS, (where, text[:80])


@pytest.mark.parametrize(
    ("pattern", "power"),
    [
        ("word", 1),
        ("^word.*end", 1),
        ("word.*end", 2),
        ("(?m)^word.*end", 2),  # many lines, many beginnings
        ("^a+b", 1),
        ("a+b", 2),
        ("^a*b*c", 1),  # the next letter decides
        ("^a*a*b", 2),
        ("^[a-b]*[c-d]*x", 1),
        ("^[a-c]*[c-d]*x", 2),
        (r"^\d*\s*x", 1),
        (r"^\d*\w*x", 2),
        ("^a*A*x", 1),
        ("(?i)^a*A*x", 2),
        ("^(?i:a*)A*x", 2),
        ("(?i)^k*K*x", 2),  # as is the Kelvin sign
        ("^é*é*x", 2),
        (r"^é*\w*x", 2),
        ("^[a-z]*[y-é]*x", 2),
        ("^(?:ab)*(?:cd)*x", 1),
        ("^(?:a|b)*x", 1),
        ("^(?:a*b)*x", 1),
        ("^.*.*.*x", 3),
        ("^(?=a*)a*x", 1),
        ("^a{9}a*x", 1),
        ("^[^a]*a*x", 2),  # an x may be of the first part or the last
    ],
)
def test_how_the_steps_grow_with_the_text(pattern: str, power: int) -> None:
    longer, shorter = most_steps(pattern, 6000), most_steps(pattern, 3000)
    assert math.log2(longer / shorter) == pytest.approx(power, abs=0.05)


def test_a_word_that_may_stand_in_few_places_is_cheaper_to_go_on_from() -> None:
    costs = [most_steps(f"{word}.*x", 3000) for word in ("aaaa", "abab", "abcd")]
    assert [round(costs[0] / cost) for cost in costs] == [1, 2, 4]


def test_a_bounded_part_costs_the_same_in_any_text() -> None:
    bounded = [most_steps("^a{0,9}a{0,9}x", length) - length for length in (3000, 6000)]
    assert bounded[1] - bounded[0] == pytest.approx(3000, abs=10)
    assert most_steps("^a{0,9}a{0,9}x", 3000) > most_steps("^a{0,4}a{0,4}x", 3000)
