"""An engine is installed under the lock, and the host is looked at anew then."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from orchestrator.engines import registry
from orchestrator.facts.source import Unknown
from orchestrator.install import follow
from orchestrator.install.installation import Installation
from orchestrator.job import Job
from orchestrator.plan.plan import make_plan
from orchestrator.plan.wishes import Goal
from orchestrator.playbook.parts import EngineSettings
from orchestrator.playbook.pinned import PinnedEngine
from orchestrator.steps.course import Course, course
from orchestrator.steps.install_engine import InstallEngine
from orchestrator.steps.step import Onward
from tests.jobs import job
from tests.steps.doing import do
from tests.surveys import knowing, survey

PINNED = PinnedEngine.of("vllm==0.16.0")
INSTALLATION = Installation(PINNED, registry.get("vllm"))
ABSENT = knowing(survey(), engine=Unknown("no_engine_python", "no such program"))


def asking() -> Job:
    asked = job()
    engine = EngineSettings(install=str(PINNED))
    return replace(asked, playbook=asked.playbook.model_copy(update={"engine": engine}))


def planned(goal: Goal = "up", begin: Onward | None = None) -> Course:
    asked = asking()
    return course(asked, make_plan("gpu7", asked.playbook, ABSENT, asked.wishes, goal=goal), goal, begin)


def test_it_is_done_under_the_lock_and_the_rest_is_planned_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[Any] = []
    monkeypatch.setattr(
        follow,
        "install",
        lambda host, report, installation, **more: done.append((installation, more["instance"])),
    )
    assert do(InstallEngine(INSTALLATION)) == ("installed", 1)
    assert done == [(INSTALLATION, "kimi-k2.5")]


def test_what_will_be_written_and_that_nobody_knows_the_bytes() -> None:
    effects = InstallEngine(INSTALLATION).effects
    assert (effects.files, effects.network_bytes) == ((PINNED.folder,), None)
    assert effects.words[0].startswith("make an environment with vllm==0.16.0")
    assert effects.words[1] == "it will likely take 10.0 GB of the disk"


def test_wheels_of_this_machine_are_named() -> None:
    words = replace(INSTALLATION, wheels="/w").words
    assert (
        words[0] == "send the wheels of /w on this machine, as far as they are not there; no index is asked"
    )
    assert "no index" not in replace(INSTALLATION, wheels="/w", indexes=("https://i",)).words[0]


@pytest.mark.parametrize(
    ("goal", "first"), [("up", "install"), ("fetch", "install"), ("restart", "install"), ("patch", "patch")]
)
def test_it_comes_before_all_that_needs_the_engine(goal: Goal, first: str) -> None:
    assert planned(goal).steps[0].name == first


@pytest.mark.parametrize(("goal", "asked"), [("up", True), ("fetch", True), ("patch", False)])
def test_the_consent_is_asked_for_where_it_is_done(goal: Goal, asked: bool) -> None:
    assert ("install-engine" in planned(goal).lacking) is asked


def test_an_engine_that_is_not_seen_after_it_was_installed_is_not_installed_again_and_again() -> None:
    (refusal,) = planned(begin="installed").refusals
    assert refusal.code == "engine_absent"
    assert refusal.next_command == f"ls -l {PINNED.folder}  # on gpu7"
