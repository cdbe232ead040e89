"""Consents are asked of a person where one can be asked, and refused where none can."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.base.errors import PreflightRefused
from orchestrator.job import Job
from orchestrator.loop.consents import Consents, objection
from orchestrator.loop.reading import Reading
from orchestrator.plan.plan import make_plan
from orchestrator.plan.wishes import Wishes
from orchestrator.steps.course import Course, course
from tests.jobs import PATCHES, job
from tests.surveys import MEMBER, NEVER_LAUNCHED, listener, survey


def without_consents(**more: object) -> Job:
    asked = job(wishes=Wishes(patches=PATCHES), **more)
    return replace(asked, playbook=asked.playbook.model_copy(update={"consents": ()}))


def planned_for(asked: Job) -> Course:
    return course(asked, make_plan("gpu7", asked.playbook, survey(), asked.wishes), "up")


def test_a_missing_consent_keeps_a_run_from_it_where_nobody_can_be_asked() -> None:
    asked = without_consents()
    planned = planned_for(asked)
    error = objection(asked, planned)
    assert error is not None
    assert (error.code, error.exit_code) == ("consent_missing", 4)
    assert error.known["consent"] == next(iter(planned.lacking))
    asked = without_consents(ask=lambda question: True)
    assert objection(asked, planned_for(asked)) is None


def test_a_consent_that_a_person_gives_is_the_jobs_from_then_on() -> None:
    reading = Reading(without_consents(ask=lambda question: True))
    Consents().permit(reading, planned_for(reading.job))
    assert set(reading.job.consents) == {"trust-remote-code", "listen-openly"}


def test_a_shared_port_is_an_objection() -> None:
    shared = replace(NEVER_LAUNCHED, launch=1, members=(MEMBER,), listener=listener(pid=2))
    plan = make_plan("gpu7", job().playbook, survey(observed=shared), job().wishes)
    error = objection(job(), course(job(), plan, "up"))
    assert error is not None
    assert error.code == "port_shared"


def test_the_same_question_is_put_once_whichever_host_needs_it() -> None:
    questions: list[str] = []

    def ask(question: str) -> bool:
        questions.append(question)
        return True

    consents = Consents()
    readings = [Reading(without_consents(ask=ask)) for _ in range(2)]
    for reading in readings:
        consents.permit(reading, planned_for(reading.job))
        assert set(reading.job.consents) == {"trust-remote-code", "listen-openly"}
    assert len(questions) == 2
    consents.have(readings[0], {"foreign-folder": "/m belongs to uid 7"})
    consents.have(readings[1], {"foreign-folder": "/m belongs to uid 8"})  # another question
    assert len(questions) == 4


def test_who_said_no_is_not_asked_again() -> None:
    answers = [False]
    consents = Consents()
    for _ in range(2):
        reading = Reading(without_consents(ask=lambda question: answers.pop()))
        with pytest.raises(PreflightRefused):
            consents.have(reading, {"linger": "logind"})
