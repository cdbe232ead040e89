"""Do vLLM's own argument parsers take the command lines that are planned: of every playbook, and of models without one?"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from orchestrator.models.needs import needs
from orchestrator.plan.plan import make_plan
from orchestrator.plan.wishes import Wishes
from orchestrator.playbook.names import called
from tests import surveys
from tests.engines.kv_cache.real import NO_ENGINE
from tests.jobs import PATCHES
from tests.models import test_shipped as shipped
from tests.models.test_choose import HOSTS, TABLE, chosen, published

ASK = Path(__file__).with_name("ask.py")
RELEASES = ("0.16.0", "0.19.1", "0.24.0", "0.32.0")
"""The last one is the engine's own environment, the others lie beside it (tests/engine_environment)."""
_GOOD = ["--model", "/m", "--tool-call-parser", "hermes", "--enable-auto-tool-choice"]
WRONG = {
    "max-modle-len": [*_GOOD, "--max-modle-len", "12"],
    "many": [*_GOOD, "--max-model-len", "many"],
    "hermse": ["--model", "/m", "--tool-call-parser", "hermse", "--enable-auto-tool-choice"],
}
"""Lines that no release takes, by the word that it says then."""

pytestmark = [
    pytest.mark.engine,
    pytest.mark.skipif(NO_ENGINE, reason="DEPLOY_TEST_ENGINE names no engine"),
]


def answers(release: str, lines: Sequence[list[str]]) -> list[str | None]:
    """What the release says against each line, in their order."""
    engine = Path(os.environ["DEPLOY_TEST_ENGINE"])
    overlay = engine.parents[1] / "releases" / release
    environment = {"PYTHONPATH": str(overlay)} if release != RELEASES[-1] else {}
    spoken = subprocess.run(
        [engine, ASK],
        input=json.dumps(lines),
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
    )
    assert spoken.returncode == 0, spoken.stderr[-2000:]
    read: list[str | None] = json.loads(spoken.stdout.splitlines()[-1])
    return read


def arguments(printed: dict[str, Any]) -> list[str]:
    """What the planned command hands to the engine: everything from `--model` on."""
    command: list[str] = printed["command"]
    return command[command.index("--model") :]


def of_playbooks(release: str) -> dict[str, list[str]]:
    lines = {}
    for name in called([shipped.FOLDER]):
        playbook = shipped.playbook_of(name)
        if playbook.engine.accepts(release):
            wanted = needs(playbook) if playbook.choose else None
            cards = shipped.cards_for(wanted) if wanted else "8xH200"
            lines[f"{name} on {cards}"] = arguments(shipped.planned(playbook, cards, release).as_json())
    return lines


def of_models(release: str) -> dict[str, list[str]]:
    lines = {}
    for row in TABLE:
        cards = HOSTS[row["host"]][0]
        playbook = chosen(published(row["model"], row["gb"]), cards, release).playbook
        survey = surveys.survey(version=release, gpus=cards, checkpoint=surveys.NO_FILES)
        plan = make_plan("gpu7", playbook, survey, Wishes(patches=PATCHES))
        lines[f"{row['model']} on {row['host']}"] = arguments(plan.as_json())
    return lines


@pytest.mark.parametrize("release", RELEASES)
def test_the_release_takes_every_line_that_is_planned_for_it(release: str) -> None:
    lines = of_playbooks(release) | of_models(release)
    assert len({name.partition(" on ")[0] for name in lines}) > 20
    reasons = answers(release, [*lines.values(), *WRONG.values()])
    refused = dict(zip([*lines, *WRONG], reasons, strict=True))
    unseen = {wrong for wrong in WRONG if wrong not in (refused.pop(wrong) or "")}
    assert unseen == set(), "the release is not really asked"
    assert {name: reason for name, reason in refused.items() if reason} == {}
