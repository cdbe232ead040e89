"""A launch that serves is asked once; what it differs in is told, and it stays."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import pytest

from orchestrator.launch.server import Server
from orchestrator.programs.smoke import Completion
from orchestrator.steps.confirm import Confirm
from orchestrator.steps.step import Work
from tests.jobs import Answering, Told, job
from tests.steps.doing import do, plan
from tests.surveys import NEVER_LAUNCHED, survey

ANSWER = Completion(
    ok=True, status=200, text="4", tokens=8, seconds=1.0, tokens_per_second=8.0,
    error=None, late=False, context=None, made_before=None, made_after=None,
)  # fmt: skip
STARTED = {"action": "launch", "launch": 3}
HEALTHY = {"action": "outcome", "launch": 3, "result": "healthy"}


def confirm(journal: list[dict[str, Any]], argv: list[str] | None = None) -> Confirm:
    command = {"argv": argv} if argv else None
    serving = replace(NEVER_LAUNCHED, launch=3, alive=True, command=command)
    return Confirm(plan(survey(observed=serving, journal=journal)))


@pytest.mark.parametrize(("journal", "recorded"), [([STARTED], 1), ([STARTED, HEALTHY], 0)])
def test_a_completion_goes_on_record_where_it_is_the_first(
    journal: list[dict[str, Any]], recorded: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Server, "complete", lambda self, place: ANSWER)
    records: list[Any] = []
    asked = job()
    monkeypatch.setattr(type(asked), "record", lambda self, record: records.append(record.as_json()))
    assert do(confirm(journal), asked) == ("done", 0)
    assert records == [HEALTHY] * recorded


@pytest.mark.parametrize(("recorded", "context"), [({}, 262144), ({"context": 46096}, 46096)])
def test_the_context_is_the_one_on_record_where_the_server_names_more(
    recorded: dict[str, int], context: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = ANSWER.model_copy(update={"context": 262144})
    monkeypatch.setattr(Server, "complete", lambda self, place: answer)
    with ExitStack() as until_end:
        work = Work(job(), lambda: None, until_end)
        assert confirm([STARTED, {**HEALTHY, **recorded}]).do(work) == "done"
    assert work.context == context


def test_where_none_comes_it_is_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    silent = ANSWER.model_copy(update={"ok": False, "error": "no completion came"})
    monkeypatch.setattr(Server, "complete", lambda self, place: silent)
    told = Told()
    assert do(confirm([STARTED]), job(Answering(), told)) == ("follow", 0)
    assert (told.events[-1].text, told.events[-1].data["state"]) == ("no completion came", "failed")


def test_what_it_differs_in_is_told_before() -> None:
    step = confirm([STARTED])
    same = ["python3", "-m", "x", *step.plan.options.argv[3:]]
    assert confirm([STARTED], same).differences == ()
    other = ["65536" if word == "131072" else word for word in same]
    assert "it differs from what is asked: --max-model-len is 65536, asked is 131072" in (
        confirm([STARTED], other).effects.words
    )
    assert "nothing else: launch 3 serves and stays as it is" in step.effects.words
