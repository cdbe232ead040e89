"""Which engine's versions a patch asks for: by the engine's name, and of no other one."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from orchestrator.engines import registry
from orchestrator.patches.known import Known
from orchestrator.patches.match import Match
from orchestrator.patches.versions import versions
from orchestrator.patches.when import When


def test_there_is_a_key_for_each_engine() -> None:
    for kind in registry.kinds():
        when = When.model_validate({kind: ">=0.14"})
        assert versions(when) == {kind: ">=0.14"}
        assert When.model_validate_json(when.model_dump_json(exclude_unset=True)) == when
        assert versions(Match.model_validate({kind: "<2", "exception": "E"})) == {kind: "<2"}
    assert versions(When()) == {}


def test_of_an_engine_that_is_not_there_nobody_asks() -> None:
    with pytest.raises(ValidationError):
        When.model_validate({"tgi": ">=1"})


def test_a_version_of_another_engine_fits_nothing() -> None:
    when = When.model_validate({"vllm": ">=0.1"})
    assert Known(kind="vllm", version="0.16.0").hold(when)
    assert not Known(kind="sglang", version="0.16.0").hold(when)
    assert not Known(version="0.16.0").hold(when)
