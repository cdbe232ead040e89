"""Text of others in every output: nothing in it acts on a terminal, is read as markup, or ends a line of JSON."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from typing import Any

import click
import pytest
from rich.console import Console

from orchestrator.base.errors import PreflightRefused
from orchestrator.base.events import Event
from orchestrator.cli import complete
from orchestrator.cli.main import tell
from orchestrator.diagnosis.verdict import Diagnosis, EvidenceLine, Finding, Folded, RootCause
from orchestrator.engines.vllm.log.grammar import GRAMMAR
from orchestrator.programs.journal import UnreadableRecord, read
from orchestrator.report import choose, diagnosis_text, error, history, status
from orchestrator.report.json_lines import JsonLines, json_line
from orchestrator.report.layout import StyledLine, passage, plain
from orchestrator.report.log_lines import whole
from orchestrator.report.panel import panel_lines
from orchestrator.report.plain import PlainLines
from orchestrator.report.terminal import Terminal, ansi
from orchestrator.survey.group_status import group_status
from tests.report.test_tables import STATE

HOSTILE = {
    "clears the screen": "\x1b[2J",
    "moves the cursor": "\x1b[1;1H",
    "sets the title": "\x1b]0;owned\x07",
    "makes a link": "\x1b]8;;http://evil/\x1b\\here",
    "asks the terminal": "\x1b[6n\x1bP+q544e\x1b\\",
    "C1": "\x9b31mred\x9d0;owned\x9c\x85\x84",
    "goes back": "x\rsafe\b\b\b",
    "other breaks of a line": "a\x0bb\x0cc\u2028d\u2029e",
    "bells and shifts": "\x07\x0e\x0f\x05",
    "delete": "abc\x7f\x7f",
    "turns the direction": "\u202egnp.exe\u202c \u2066x\u2069 \u200f\u061c",
    "is not seen": "a\u200bb\u2060c\ufeffd\u00ade\U000e0041",
    "half a character": "\udc80\ud800",
}
ACTING = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff\U000e0000-\U000e0fff]"
)


def log(text: str) -> str:
    return shown([*whole([f"(Worker_TP0 pid=1) {text}\n".encode("utf-8", "surrogatepass")], GRAMMAR)])


def shown(lines: list[StyledLine]) -> str:
    return "".join(f"{plain(line)}\n" for line in lines)


def on_terminal(kind: Callable[..., Any]) -> Callable[[str], str]:
    """What an event leaves behind, in a terminal's renderer without the terminal's own colours."""

    def show(text: str) -> str:
        out = io.StringIO()
        with kind(out) as display:
            display.show(Event("step", text, text, text, {"state": "ok", "seconds": 1.0}))
            display.show(Event("warning", text))
            display.show(Event("result", f"healthy\n  url {text}"))
            display.show(Event("plan", f"x\n  fit {text}"))
        return out.getvalue()

    return show


def terminal(out: io.StringIO) -> Terminal:
    return Terminal(out, console=Console(file=out, no_color=True, highlight=False, width=80))


def diagnosed(text: str) -> str:
    found = Diagnosis(
        verdict="fault",
        root_cause=RootCause(text=text, line=1, process=text, exception=text),
        finding=Finding(patch=text, category="other", title=text, explanation=text, confidence="likely"),
        evidence=(EvidenceLine(line=2, text=text),),
        folded=Folded(processes=(text,), lines=1),
    )
    return shown(diagnosis_text.diagnosis_lines(found, text, known=3, packing=f"deploy diagnose {text}"))


def failed(text: str) -> str:
    words = dict.fromkeys(("cause", "where", "why", "remedy", "cost", "ruled_out", "bundle"), text)
    return shown(panel_lines(words, f"+++ b/{text}\n+{text}\n-{text}\n"))


def recorded(text: str) -> str:
    keys = (
        "at",
        "result",
        "cause",
        "finding",
        "patch",
        "why",
        "way",
        "survivors",
        "folder",
        "consent",
    )
    actions = (
        "launch",
        "outcome",
        "patch",
        "revert",
        "stop",
        "stop_failed",
        "clean",
        "discard",
        "consent",
        text,
    )
    more = {
        "launch": 1,
        "what": {text: {"removed": [text]}},
        "flags": {text: text},
        "kept": [{"path": text}],
        "left": [{"name": text}],
    }
    file = {"name": text.replace("/", ""), "before": text, "after": text}
    files = {"patch": [file], "discard": [text]}
    given = [
        {"action": action, **dict.fromkeys(keys, text), **more, "files": files.get(action)}
        for action in actions
    ]
    records = [read(record) for record in given]
    assert not any(isinstance(record, UnreadableRecord) for record in records)
    records.append(read({"action": text, text: text}))
    return shown(history.table(records, 80))


def stated(text: str) -> str:
    state = {
        **STATE,
        "host": text,
        "state": text,
        "members": [{"pid": 1, "name": text, "rss_bytes": 1}],
        "models": [text],
        "outcome": {"launch": 1, "result": text, "cause": text},
        "log": {"path": text, "silent_seconds": 1.0},
        "patches": [{"patch": text, "confirmed": True, "files": [text]}],
        "group": {"hosts": [text, "gpu8"], "rank": 0, "serves": True, "role": "head"},
        "role": "head",
    }
    gone = {"host": text, "role": "worker 1", "error": {"code": "gone", "message": text}}
    group = group_status(text, text, [state, gone])
    return shown([*status.table(state, 80, whole=text), *status.group_table(group, 80)])


def told(text: str) -> str:
    refused = PreflightRefused("code", f"{text}\n{text}", next_command=f"deploy {text}")
    return shown(error.error_lines(refused, f"deploy {text}", text))


def in_colour(text: str) -> str:
    """Without the colours of our own, which a rich console writes."""
    console = Console(file=io.StringIO(), force_terminal=True, color_system="standard", highlight=False)
    drawn = ansi(console, [(text, "bad"), (text, "link"), (text, "")])
    return re.sub(r"\x1b\[[0-9;]*m", "", drawn)


def written(text: str) -> str:
    out = io.StringIO()
    choose.write([[(text, "")]], out)
    return out.getvalue()


RENDERERS: dict[str, Callable[[str], str]] = {
    "plain lines": on_terminal(PlainLines),
    "terminal": lambda text: on_terminal(terminal)(text).replace("\r\x1b[J", ""),
    "colours": in_colour,
    "laid-out lines": written,
    "log": log,
    "diagnosis": diagnosed,
    "panel": failed,
    "history": recorded,
    "status": stated,
    "error": told,
    "file or diff": lambda text: passage(f"+{text}\n\n"),
}


@pytest.mark.parametrize("what", HOSTILE)
@pytest.mark.parametrize("renderer", RENDERERS)
def test_nothing_in_a_text_acts_on_the_terminal(renderer: str, what: str) -> None:
    drawn = RENDERERS[renderer](f"before {HOSTILE[what]} after")
    assert "before" in drawn
    assert "after" in drawn
    found = ACTING.search(drawn)
    assert found is None, (drawn[max(0, found.start() - 40) : found.start() + 40], found[0])


@pytest.mark.parametrize("renderer", RENDERERS)
def test_markup_in_a_text_is_text(renderer: str) -> None:
    drawn = RENDERERS[renderer]("[red]a[/red] [link=http://evil]b[/link] :smile:")
    for piece in ("[red]a[/red]", "[link=http://evil]b[/link]", ":smile:"):
        assert piece in " ".join(drawn.split())


@pytest.mark.parametrize("what", HOSTILE)
def test_in_json_it_is_escaped_and_comes_back_as_it_was(
    what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = HOSTILE[what]
    out = io.StringIO()
    JsonLines(out).show(Event("note", text, text, text, {text: [text]}))
    tell(PreflightRefused("code", text, next_command=text), as_json=True, host=text)
    for line in (out.getvalue(), json_line({"a": text}) + "\n", capsys.readouterr().out):
        assert re.fullmatch(r"[ -~]+\n", line)
        assert text in json.loads(line).values() or json.loads(line)["error"]["message"] == text


def test_names_that_act_on_a_terminal_are_not_offered_for_completion(tmp_path: Any) -> None:
    for name in ("fine", *HOSTILE.values()):
        if "/" not in name and "\ud800" not in name:
            (tmp_path / f"f{name}.yaml").touch()
    context = click.Context(click.Command("up"))
    context.params["playbooks"] = (tmp_path,)
    assert [item.value for item in complete.playbooks(context, None, "f")] == ["ffine"]


def test_the_engines_own_colours_are_left_out() -> None:
    assert plain([("\x1b[1;36m(Worker pid=1)\x1b[0;0m x", "")]) == "(Worker pid=1) x"


def test_a_file_keeps_its_tabs_and_its_ends_of_lines() -> None:
    assert passage("a\tb\r\nc\n") == "a\tb\r\nc\n"
