"""What holds of every patch that is shipped: nothing is taken for proven that its match does not prove."""

from __future__ import annotations

import pytest

from orchestrator.base.data_folders import shipped
from orchestrator.patches import catalogue
from orchestrator.patches.patch import Patch

PATCHES = catalogue.load([shipped("patches")])
every = pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: patch.id)


@every
def test_what_is_only_likely_says_which_line_or_command_would_tell(patch: Patch) -> None:
    likely = any(match.confidence == "likely" for match in patch.match)
    assert bool(patch.tells) is likely
