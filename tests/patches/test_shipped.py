"""What holds of every patch that is shipped: nothing is taken for proven that its match does not prove."""

from __future__ import annotations

import re

from orchestrator.base.data_folders import shipped
from orchestrator.patches import catalogue
from orchestrator.patches.action import Action, Way
from orchestrator.patches.match import Match
from orchestrator.patches.patch import Patch
from tests.of_each import of_each

PATCHES = catalogue.load([shipped("patches")])
every = of_each(PATCHES, lambda patch: patch.id)
OF_ANYTHING = {
    "?*", "*", "*Error", "V*Error", "[AV]*Error", "Exception", "ArithmeticError", "AssertionError", "AttributeError", "EOFError",
    "ImportError", "IndexError", "KeyError", "ModuleNotFoundError", "NotImplementedError", "OSError", "RuntimeError", "SyntaxError",
    "TypeError", "ValueError",
}  # fmt: skip
"""Exceptions that any line of a program may raise: their name says nothing of a cause."""
LAST_WORDS_OF_WHAT_IS_SWITCHED_OFF = {"hang-one-shot-all-reduce", "hang-p2p-probe"}
"""Hangs whose last line is of the very operation without which their remedy launches."""


@every
def test_what_is_only_likely_says_which_line_or_command_would_tell(patch: Patch) -> None:
    likely = any(match.confidence == "likely" for match in patch.match)
    assert bool(patch.tells) is likely


@every
def test_nothing_is_certain_by_the_place_alone_where_it_was_raised(patch: Patch) -> None:
    certain = [match for match in patch.match if match.confidence == "certain"]
    assert [match for match in certain if match.during != "hang" and not _says_what_it_is(match)] == []


def _says_what_it_is(match: Match) -> bool:
    told = match.text or match.pattern or match.reasons or match.line
    return bool(told) or match.exception not in OF_ANYTHING


@every
def test_of_several_ways_each_says_which_evidence_picks_it(patch: Patch) -> None:
    """Circumstances, a text of the failure, that it came back; or it is for what the circumstances of those before leave."""
    for number, way in enumerate(patch.remedy[1:], 1):
        left = all(_has_evidence(patch, before) for before in patch.remedy[:number])
        assert way.again or _has_evidence(patch, way) or left, f"way {number + 1} of {len(patch.remedy)}"
    assert not any(way.again for way in patch.remedy[:1])


def _has_evidence(patch: Patch, way: Way) -> bool:
    asks = way.when or way.unless or any(action.when or action.unless for action in way.do)
    # the edits of a config file are only made where the file has what they edit
    return bool(asks) or any(action.kind == "config" or _of_the_failure(patch, action) for action in way.do)


def _of_the_failure(patch: Patch, action: Action) -> bool:
    """Whether a value of it stands in the failure's own text."""
    read = {name for match in patch.match if match.pattern for name in re.compile(match.pattern).groupindex}
    worked = action.formula or ""
    return bool(action.groups()) or (
        " or " not in worked and bool(read.intersection(re.findall(r"\w+", worked)))
    )


@every
def test_nothing_is_set_for_a_launch_that_stands_still_by_its_last_line_alone(patch: Patch) -> None:
    sets = any(action.kind in ("flag", "env", "config") for way in patch.remedy for action in way.do)
    hangs = [match for match in patch.match if match.during == "hang" and match.confidence == "certain"]
    if sets and patch.id not in LAST_WORDS_OF_WHAT_IS_SWITCHED_OFF:
        assert [match for match in hangs if not (match.log or match.compute_cap or match.engine)] == []
