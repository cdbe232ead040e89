"""From which host each gets its checkpoint."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.group.ways import Want, sources, ways
from orchestrator.programs.download import Manifest

REPOSITORY = "org/tiny"
COMMIT = "c" * 40
WHOLE = Manifest(
    repository=REPOSITORY, revision="main", commit=COMMIT, ignore=("original/*",), complete=True, files={}
)


def bare(name: str) -> Want:
    return Want(name, f"10.77.0.{ord(name[0])}", REPOSITORY, "main", ("original/*",), True, None)


def whole(name: str) -> Want:
    return replace(bare(name), lacks=False, manifest=WHOLE)


def words(*wants: Want) -> dict[str, str]:
    return {host: way.words for host, way in ways(wants).items()}


def test_who_has_it_whole_is_the_source() -> None:
    assert words(bare("a"), whole("b"), bare("c")) == dict.fromkeys("ac", "from b over 10.77.0.98")


def test_else_one_fetches_it_for_all() -> None:
    assert words(bare("a"), bare("b")) == {
        "a": "from the Hub, and on to b",
        "b": "from a over 10.77.0.97 as it comes there",
    }
    assert words(bare("a"), bare("b"), bare("c"))["a"] == "from the Hub, and on to 2 hosts"


@pytest.mark.parametrize(
    "other",
    [
        {"manifest": None},  # brought by somebody: nobody knows what it is
        {"manifest": WHOLE.model_copy(update={"complete": False})},
        {"manifest": WHOLE.model_copy(update={"revision": "v2"})},
        {"manifest": WHOLE.model_copy(update={"repository": "org/other"})},
        {"manifest": WHOLE.model_copy(update={"ignore": None})},
        {"revision": "v2"},
        {"ignore": ()},
    ],
)
def test_another_checkpoint_is_no_source(other: dict) -> None:
    assert words(bare("a"), replace(whole("b"), **other)) == {}


def test_a_commit_is_named_by_itself() -> None:
    by_commit = replace(bare("a"), revision=COMMIT)
    assert list(words(by_commit, replace(whole("b"), revision=COMMIT))) == ["a"]


def test_where_nothing_is_lacking_nothing_comes() -> None:
    assert words(whole("a"), whole("b")) == words(bare("a")) == words() == {}


def test_hosts_that_want_different_things_share_nothing() -> None:
    assert list(words(bare("a"), replace(bare("b"), revision="v2"), bare("c"))) == ["a", "c"]


def test_who_gave_is_named_as_long_as_it_is_one() -> None:
    assert (sources({"a": 1}), sources({"a": 1, "b": 2})) == ("a", "2 hosts")
