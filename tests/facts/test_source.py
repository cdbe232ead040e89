"""What a reply of the host says of the command that was to tell a fact."""

from __future__ import annotations

import pytest

from orchestrator.facts.source import NoProgram, NotRun, OutOfTime, Output, Printed, Reply, Unknown, answer

LINES = "YQpiCmM="
"""Two lines and a part of one: a, b, c."""


@pytest.mark.parametrize(
    ("reply", "by_line", "says"),
    [
        (Printed(3, LINES, "/w=="), False, Output(3, "a\nb\nc", "\ufffd")),
        (Printed(0, LINES, ""), True, Output(0, "a\nb\nc")),
        (NoProgram("/bin/x"), False, Unknown("no_such_program", "/bin/x does not exist on the host")),
        (NotRun("/bin/x: no"), False, Unknown("cannot_run", "cannot be run: /bin/x: no")),
        (OutOfTime(30.0, LINES), False, Unknown("no_answer", "no answer within 30 s")),
        (OutOfTime(2.5, LINES), True, Output(124, "a\nb\n", "no answer within 2.5 s")),
        (OutOfTime(2.5), True, Unknown("no_answer", "no answer within 2.5 s")),
    ],
)
def test_a_reply(reply: Reply, by_line: bool, says: Output | Unknown) -> None:
    assert answer(reply, by_line=by_line) == says
