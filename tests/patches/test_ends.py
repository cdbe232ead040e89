"""What the loader tells whoever wrote an expression without an end."""

from __future__ import annotations

import re
from typing import Any

import pytest
from pydantic import ValidationError

from orchestrator.patches.ends import suggested, with_ends
from orchestrator.patches.patch import Patch


@pytest.mark.parametrize(
    ("pattern", "ended"),
    [
        (r"CUDA error: .* at .*\.cu", r"CUDA error: .{0,80} at .{0,80}\.cu"),
        (r"(?P<need>\d+(?:\.\d+)?) GiB.*?(?P<have>[\d.]+)", r"(?P<need>\d{1,20}(?:\.\d{1,20})?) GiB.{0,80}?(?P<have>[\d.]{1,20})"),
        (r"a\*b\+c[*+]d?e{2}f{3,}g{,4}", r"a\*b\+c[*+]d?e{2}f{3,80}g{,4}"),
        (r"a\\*b[]*]+[^]+]*", r"a\\{0,80}b[]*]{1,80}[^]+]{0,80}"),
        (r"\w++x*+y*?", r"\w{1,80}+x{0,80}+y{0,80}?"),
        (r"a\++b", r"a\+{1,80}b"),
    ],
)  # fmt: skip
def test_each_repetition_gets_an_end(pattern: str, ended: str) -> None:
    assert with_ends(pattern, 80) == ended
    assert with_ends(ended, 80) == ended


def test_the_longest_ends_that_fit_are_suggested() -> None:
    assert suggested(".*No space.*", lambda _: True) == "No space"
    assert suggested("^.*a.*b", lambda one: "400" not in one) == "a.{0,200}b"
    assert suggested("a.*b", lambda _: False) is None


def patch(match: dict[str, Any], *remedy: dict[str, Any]) -> dict[str, Any]:
    return {"id": "mine", "title": "Mine", "category": "other", "match": [match], "remedy": remedy}


@pytest.mark.parametrize(
    "match",
    [
        {"pattern": r"CUDA error: .* at .*\.cu"},
        {"pattern": r"(?P<need>\d+(?:\.\d+)?) GiB.*?(?P<have>\d+)"},
        {"pattern": r"assert .+ == .+"},
        {"pattern": ".*No space left on device.*"},
        {"line": r"^.*NCCL WARN .*Call to ibv_\w+ failed.*$"},
        {"pattern": "x", "log": "NCCL WARN Call to .* failed"},
    ],
)
def test_what_is_suggested_is_taken(match: dict[str, str]) -> None:
    with pytest.raises(ValidationError) as caught:
        Patch.model_validate(patch(match))
    told = re.search(r"such as (.*?) \[type=", str(caught.value))
    assert told, caught.value
    Patch.model_validate(patch({**match, list(match)[-1]: told[1]}))


def test_so_it_is_for_a_group() -> None:
    use = {"kind": "flag", "name": "--max-num-seqs", "op": "set", "value": "{seqs}"}
    with pytest.raises(ValidationError, match=r"instance max_num_seqs \(\?P<seqs>\\d\{1,20\}\),"):
        Patch.model_validate(patch({"pattern": r"max_num_seqs (?P<seqs>\d+)"}, use))
    with pytest.raises(ValidationError, match=r"instance \(\?P<seqs>\[\\w.-\]\{1,80\}\),"):
        Patch.model_validate(patch({"pattern": r"max_num_seqs (?P<seqs>\S+)"}, use))
