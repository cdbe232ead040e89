"""What a match may say, and what of it is asked of the failure or of lines near it."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from orchestrator.patches.match import Match


@pytest.mark.parametrize(
    "given",
    [
        {"text": "a"},
        {"pattern": "needed [0-9]{1,9} tokens"},
        {"exception": "MyError"},
        {"reasons": {"TRITON_MLA": "no"}},
        {"line": "undefined symbol"},
        {"during": "hang", "phase": "loading weights"},
        {"during": "hang", "log": "undefined symbol"},
    ],
)
def test_a_match_that_recognises_something(given: dict[str, Any]) -> None:
    assert Match.model_validate(given)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"process": "Worker"},
        {"phase": "loading weights"},
        {"log": "undefined symbol"},
        {"during": "hang"},
        {"during": "hang", "not_log": "undefined symbol"},
        {"during": "request", "phase": "up"},
    ],
)
def test_a_match_that_fits_any_failure_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="recognises nothing by itself"):
        Match.model_validate(given)


def test_a_phase_is_one_that_the_engine_has() -> None:
    assert Match(text=("a",), phase=("starting", "up")).phase == ("starting", "up")
    with pytest.raises(ValidationError, match=r"'lifting off' is no phase; allowed: starting, .*, up"):
        Match(text=("a",), phase=("lifting off",))


@pytest.mark.parametrize(
    ("given", "of_the_failure"),
    [
        ({"exception": "MyError", "line": "undefined symbol"}, True),
        ({"text": "a"}, True),
        ({"pattern": "needed [0-9]{1,9} tokens"}, True),
        ({"reasons": {"TRITON_MLA": "no"}}, True),
        ({"line": "undefined symbol", "process": "Worker", "log": "loading libx"}, False),
    ],
)
def test_whether_the_failure_itself_is_asked_for(given: dict[str, Any], of_the_failure: bool) -> None:
    assert Match.model_validate(given).of_the_failure is of_the_failure


def test_every_expression_that_lines_are_searched_for() -> None:
    given = {"line": "undefined symbol", "log": ["loading libx", "loading liby"], "not_log": "all is well"}
    watched = Match.model_validate({"pattern": "of the failure", **given}).watched
    assert watched == ("undefined symbol", "loading libx", "loading liby", "all is well")
    assert Match(text=("a",)).watched == ()


def test_what_mends_a_refusal_is_a_setting_of_the_selector() -> None:
    Match(mended_by="block_size", exception="ValueError")
    with pytest.raises(
        ValidationError, match="'blocks' is no setting that mends a refusal; allowed: block_size, "
    ):
        Match(mended_by="blocks", exception="ValueError")
