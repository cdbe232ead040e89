"""Facts in a file come back as they were."""

from __future__ import annotations

import json
from typing import Any

import pytest

from orchestrator.base.errors import UsageError
from orchestrator.facts import saved
from orchestrator.facts.gather import Facts, every
from orchestrator.facts.saved import Saved
from orchestrator.facts.source import Output, Query, Unknown
from tests.facts.cases_of import cases

QUERY = Query("/models", "python3")


@pytest.mark.parametrize("fact", every(), ids=lambda fact: fact.name)
def test_every_value_that_a_case_gives(fact: Any) -> None:
    for parameters in cases(fact.name):
        output: Output = parameters.values[0]
        value = fact.read(output, QUERY)
        before = Saved("gpu7", "2026-11-30T12:00:00+00:00", Facts({fact.name: value}))
        after = saved.read(json.dumps(saved.as_json(before)), "gpu7.json")
        assert (after.host, after.at) == (before.host, before.at)
        assert after.facts.of(fact) == value


def test_a_fact_that_cannot_be_read_takes_no_other() -> None:
    stored = {"gpus": {"known": {"gpus": "many"}}, "pci": {"known": []}, "of_another_release": {"known": 1}}
    text = json.dumps({"version": 1, "host": "gpu7", "at": "", "facts": stored, "checks": []})
    facts = saved.read(text, "gpu7.json").facts
    known = {fact.name: facts.of(fact) for fact in every()}
    assert known["gpus"] == Unknown("facts_file", "what the file holds of it cannot be read")
    assert known["pci"] == ()
    assert known["disk"] == Unknown("not_asked", "the file does not hold it")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "holds no facts"),
        ("[]", "holds no facts"),
        ('{"version": 1}', "holds no facts"),
        ('{"version": "1", "host": "h", "at": "", "facts": {}}', "holds no facts"),
        ('{"version": 1, "host": "h", "at": "", "facts": []}', "holds no facts"),
        ('{"version": 2, "host": "h", "at": "", "facts": {}}', "form 2, this release reads 1"),
        ("[" * 100_000, "holds no facts"),
    ],
)
def test_a_file_that_is_none_of_ours_is_refused(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words) as refused:
        saved.read(text, "gpu7.json")
    assert refused.value.code == "facts_file"
