"""Do the tables of releases say what the releases themselves say?"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from packaging.version import Version

from orchestrator.engines.vllm.option_table import names, opposite, spelling, takes
from orchestrator.engines.vllm.releases import table, within
from orchestrator.engines.vllm.values import choices, wrong
from tests.engines.kv_cache.real import NO_ENGINE
from tests.engines.real_parsers.test_command_lines import RELEASES

pytestmark = [
    pytest.mark.engine,
    pytest.mark.skipif(NO_ENGINE, reason="DEPLOY_TEST_ENGINE names no engine"),
]


def reading(release: str) -> dict[str, Any]:
    """What the release says of itself."""
    engine = Path(os.environ["DEPLOY_TEST_ENGINE"])
    overlay = engine.parents[1] / "releases" / release
    environment = {"PYTHONPATH": str(overlay)} if release != RELEASES[-1] else {}
    script = Path(__file__).with_name("reading.py")
    spoken = subprocess.run(
        [engine, script], capture_output=True, text=True, env={**os.environ, **environment}, check=False
    )
    assert spoken.returncode == 0, spoken.stderr[-2000:]
    read: dict[str, Any] = json.loads(spoken.stdout.splitlines()[-1])
    return read


def listed(file: str, key: str, release: Version) -> set[str]:
    return {name for name, ranges in table(file)[key].items() if not ranges or within(ranges, release)}


@pytest.mark.parametrize("text", RELEASES)
def test_a_release_is_in_the_tables_as_it_is(text: str) -> None:
    read, release = reading(text), Version(text)
    for name, option in read["options"].items():
        meant = spelling(name, release)
        assert meant is not None, name
        assert (meant.takes in ("switch", "boolean")) == option["switch"], name
        for choice in option["choices"]:
            assert choice == "None" or "," in choice or wrong(meant, choice, release) is None, (name, choice)
    known = set(names(release))
    negated = {f"no-{name}" for name in known if takes(name, release) == "boolean"}
    paired = {opposite(name) for name in known}
    assert known <= read["options"].keys() <= known | negated | paired
    for option in ("tool-call-parser", "reasoning-parser"):
        assert set(choices(option, release)) == set(read[option])
    assert listed("architectures.json", "architectures", release) == set(read["architectures"])
    assert set(read["variables"]) <= listed("variables.json", "variables", release)
