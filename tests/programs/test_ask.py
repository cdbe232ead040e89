"""What becomes of an answer that is none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import pytest

from orchestrator.base.errors import HostError
from orchestrator.cli.hints import after
from orchestrator.hosts.host import Host
from orchestrator.programs.ask import Answers, ask
from orchestrator.programs.ended import End, Ended
from orchestrator.programs.lock import Held, TakeLock

END = {"exit_code": 1, "rebooted": False, "oom_kills": {"group": 0, "machine": None}, "kernel": None}
LOCK = TakeLock(instance="tiny", who="me@here", doing="up", heartbeat_seconds=30, patience_seconds=1)


class Answering:
    """A host whose program answers this."""

    name = "gpu7"

    def __init__(self, *answers: Any) -> None:
        self.answers = answers

    def script(self, module: str, request: Any, **more: Any) -> Any:
        self.asked = (module, request, more)
        return self.answers[0]

    def stream_script(self, module: str, request: Any) -> Answering:
        return self

    def values(self) -> Iterator[Any]:
        yield from self.answers


def host(*answers: Any) -> Host:
    return cast(Host, Answering(*answers))


def test_an_answer_is_a_value() -> None:
    where = host(END)
    assert ask(where, Ended(instance="tiny", launch=3), deadline=5.0) == End.model_validate(END)
    assert cast(Answering, where).asked == (
        "ended",
        {"instance": "tiny", "launch": 3},
        {"deadline": 5.0, "private": False, "installed_beside": None},
    )


@pytest.mark.parametrize(
    ("answer", "where"),
    [
        ({**END, "exit_code": "a secret"}, "exit_code: "),
        ({**END, "oom_kills": {"group": [], "machine": 0}}, "oom_kills.group: "),
        ({**END, "more": "a secret"}, "more: "),
        ("a secret", ""),
        (None, ""),
    ],
)
def test_one_that_is_none_of_the_programs_says_where_and_not_what(answer: Any, where: str) -> None:
    with pytest.raises(HostError) as caught:
        ask(host(answer), Ended(instance="tiny", launch=3))
    assert caught.value.code == "host_answer"
    assert caught.value.message.startswith(f"ended on gpu7 gave an answer that cannot be read: {where}")
    assert "secret" not in caught.value.message
    assert after(caught.value, "deploy tiny") == "deploy tiny -v"


def test_each_of_several_answers_is_read() -> None:
    answers = Answers(host({"locked": True, "before": ""}, {"locked": 7}), LOCK).values()
    assert next(answers) == Held(locked=True, before="")
    with pytest.raises(HostError, match="lock on gpu7"):
        next(answers)
