"""What became of a command is one of four things, and nothing else is believed."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from orchestrator.facts.source import Command, NoProgram, NotRun, OutOfTime, Printed
from orchestrator.programs.read_facts import ReadFacts

REQUEST = ReadFacts(commands={"one": Command(("true",), 3.0, {"A": "b"})})


def test_a_command_goes_over_as_it_is() -> None:
    one = {"argv": ["true"], "timeout": 3.0, "environment": {"A": "b"}}
    assert REQUEST.plain() == {"commands": {"one": one}}


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ({"rc": 1, "stdout": "YQ==", "stderr": ""}, Printed(1, "YQ==", "")),
        ({"missing": "/bin/x"}, NoProgram("/bin/x")),
        ({"refused": "/bin/x: Permission denied"}, NotRun("/bin/x: Permission denied")),
        ({"timed_out": 3}, OutOfTime(3.0)),
        ({"timed_out": 3.0, "stdout": "YQ=="}, OutOfTime(3.0, "YQ==")),
    ],
)
def test_what_became_of_it_is_one_of_four_things(reply: dict[str, Any], value: object) -> None:
    assert REQUEST.read({"one": reply}) == {"one": value}


@pytest.mark.parametrize(
    "reply", [{}, [], None, {"rc": 0}, {"rc": "x", "stdout": "", "stderr": ""}, {"missing": 3}]
)
def test_anything_else_is_no_reply(reply: Any) -> None:
    with pytest.raises(ValidationError):
        REQUEST.read({"one": reply})
