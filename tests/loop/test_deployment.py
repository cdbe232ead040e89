"""What a verb does where the host changed before the lock was taken."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from orchestrator.base.errors import PreflightRefused
from orchestrator.group.group import Group
from orchestrator.loop.deployment import Deployment
from orchestrator.loop.reading import Reading
from orchestrator.plan.plan import make_plan
from orchestrator.steps.course import Course, course
from tests.jobs import job
from tests.surveys import survey


class Changed:
    """A lock that somebody else had in between."""

    def free_since(self, turns: list[str]) -> bool:
        return False

    def require(self) -> None:
        raise AssertionError("something was done")


class Planned(Reading):
    """What is planned before the lock and under it is given, not surveyed."""

    courses: list[Course]

    def course(self, *_: Any) -> Course:
        return self.courses.pop(0)


class Locked(Deployment):
    @contextmanager
    def _lock(self, doing: str) -> Iterator[Any]:
        yield Changed()


def test_a_patch_that_is_planned_under_the_lock_needs_its_consents_too() -> None:
    asked = job()
    planned = course(asked, make_plan("gpu7", asked.playbook, survey(), asked.wishes), "patch")
    deployment = Locked(Group.of(asked))
    reading = Planned(asked)
    deployment.readings = (reading,)
    reading.courses = [
        replace(planned, lacking={}),
        replace(planned, lacking={"foreign-folder": "it belongs to uid 7"}),
    ]
    with pytest.raises(PreflightRefused, match="foreign-folder") as raised:
        deployment.patch_only()
    assert raised.value.code == "consent_missing"


class Free:
    def free_since(self, turns: list[str]) -> bool:
        return True


def test_a_consent_that_was_given_before_the_lock_makes_what_was_planned_old() -> None:
    deployment = Deployment(Group.of(job()))
    asked = deployment.reading.job
    planned = course(asked, make_plan("gpu7", asked.playbook, survey(), asked.wishes), "up")
    assert deployment._stands([planned], [asked], Free())  # type: ignore[arg-type]
    deployment.reading.job = asked.allowing("listen-openly")
    assert not deployment._stands([planned], [asked], Free())  # type: ignore[arg-type]
