"""Every way out of a verb says what lives on, and goes on being the way out that it was."""

from __future__ import annotations

from typing import Any

import click
import pytest

from orchestrator.base.errors import (
    CheckpointError,
    DeployError,
    HostError,
    LaunchFailed,
    Locked,
    PreflightRefused,
    UsageError,
    mistake,
)
from orchestrator.loop.leftovers import names_what_lives
from tests.report.test_error import LEFT


class Host:
    """Answers that three processes live, or fails to."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.failure = failure
        self.asked = 0

    name = "gpu7"

    def script(self, module: str, request: Any, **_: Any) -> Any:
        assert (module, request) == ("leftovers", {"instance": "tiny"})
        self.asked += 1
        if self.failure is not None:
            raise self.failure
        return LEFT


class Job:
    name = "tiny"

    def __init__(self, host: Host) -> None:
        self.host = host


class Reading:
    def __init__(self, host: Host) -> None:
        self.job = Job(host)


class Deployment:
    def __init__(self, host: Host, error: Exception) -> None:
        self.readings = (Reading(host),)
        self._error = error

    @names_what_lives
    def up(self) -> None:
        raise self._error


def left_by(error: Exception, host: Host) -> Exception:
    with pytest.raises(type(error)) as raised:
        Deployment(host, error).up()
    assert raised.value is error
    return error


@pytest.mark.parametrize("kind", [LaunchFailed, CheckpointError, PreflightRefused, HostError])
def test_an_error_of_any_kind_says_what_lives_on(kind: type[DeployError]) -> None:
    error = left_by(kind("will_not_die", "x"), Host())
    assert isinstance(error, DeployError)
    assert error.left == LEFT


@pytest.mark.parametrize(
    "error",
    [UsageError("x", "x"), Locked("x", "x"), HostError("connection_lost", "x"), HostError("deadline", "x")],
)
def test_nobody_is_asked_where_there_is_nothing_of_ours_to_tell_or_no_answer(error: DeployError) -> None:
    host = Host()
    left_by(error, host)
    assert (error.left, host.asked) == (None, 0)


def test_a_host_that_fails_to_answer_hides_no_error() -> None:
    error = left_by(LaunchFailed("x", "x"), Host(HostError("connection_lost", "y")))
    assert isinstance(error, DeployError)
    assert (error.left, error.code) == (None, "x")


def test_a_mistake_of_ours_says_it_too() -> None:
    error = left_by(ValueError("odd"), Host())
    assert mistake(error).left == LEFT
    assert mistake(ValueError("odd")).left is None


@pytest.mark.parametrize("error", [click.Abort(), BrokenPipeError()])
def test_a_person_who_left_and_a_pipe_that_closed_stay_what_they_are(error: Exception) -> None:
    left_by(error, Host())
