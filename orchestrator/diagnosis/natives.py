"""What does a program say that is not Python's, when it fails: C++, Rust, Go, Java, git?

Each has a line of its own with which it begins, and a few that go on with it. What it says may be caught: a panic of a Rust
library becomes an exception of Python's, which then says it better.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from orchestrator.diagnosis.hearsay import HARMLESS
from orchestrator.diagnosis.incident import Frame, IncidentKind, Raised, role_of
from orchestrator.diagnosis.lines import Line
from orchestrator.engines.log_grammar import Failures

_LINES = 200
_TEXT_LINES = 8
_LINE_LETTERS = 2000


@dataclass(frozen=True)
class Form:
    """How one language tells it: the line that `begins` it, those that follow (`goes_on`), of which `says` are part of its
    text, and the one that begins what it was caused by. A group `name` is the exception's, else it is the form's own; `text` is
    what of the line is told, `frames` Python's in it."""

    begins: re.Pattern[str]
    goes_on: re.Pattern[str]
    says: re.Pattern[str] | None = None
    cause: re.Pattern[str] | None = None
    kind: IncidentKind = "native"
    name: str | None = None


_FRAME = re.compile(
    r"(?:^|\n|\\n) {1,8}(?P<file>[^\s(\\]{1,400})\((?P<line>\d{1,9})\): (?P<function>[\w<>]{1,120})"
)
"""A frame of Python's as pybind11 writes it, the innermost first."""
_WHAT = re.compile(r"^\s{0,8}what\(\): ")
_OF_JAVA = r"(?P<name>(?:\w{1,80}\.){1,12}\w{1,120})\b"
_FORMS = (
    Form(
        re.compile(r"^terminate called after throwing(?: an instance of '(?P<name>[^']{1,200})')?"),
        goes_on=_WHAT, says=_WHAT, kind="crash",
    ),
    Form(
        re.compile(r"^thread '[^']{0,200}' (?:\(\d{1,12}\) )?panicked at \S"),
        goes_on=re.compile(r"^(?!note: |stack backtrace:|thread '|\s{0,8}\d{1,4}: )."),
        says=re.compile(r"."), name="panic",
    ),
    # an exception of Python's that Triton's server met in a model's process; its lines are spelt out
    Form(
        re.compile(
            r"^\"?(?:ERROR: )?(?:Failed to create instance|failed to load '[^']{1,200}' version \d{1,9}: \w{1,40}): "
            r"(?P<text>(?P<name>(?:\w{1,80}\.){0,12}[A-Z]\w{0,80}(?:Error|Exception)): .{1,2000}?)(?:\\n\\nAt:(?P<frames>\\n .*)|\"?$)"
        ),
        goes_on=re.compile(r"(?!)"),
    ),
    # a folder that is no repository is told by many a script that goes on
    Form(re.compile(r"^(?P<name>fatal): (?!not a git repository|No names found)\S"), goes_on=re.compile(r"(?!)")),
    Form(re.compile(r"^(?P<name>panic|fatal error): \S"), goes_on=re.compile(r"^(?:\tpanic: |\[signal )")),
    Form(
        re.compile(rf'^Exception in thread "[^"]{{0,200}}" {_OF_JAVA}'),
        goes_on=re.compile(r"^(?:\s{1,8}at |\s{1,8}\.\.\. \d{1,6} |\s{1,8}Suppressed: |Caused by: )"),
        cause=re.compile(rf"^Caused by: {_OF_JAVA}"),
    ),
)  # fmt: skip
_HINTS = (
    "terminate called after throwing",
    " panicked at ",
    "fatal: ",
    "fatal error: ",
    "panic: ",
    "Exception in thread ",
    "Failed to create instance: ",
    "failed to load '",
)
"""One of these is in every line that begins one."""


def telling() -> tuple[str, ...]:
    """What a line must fit to begin one."""
    return tuple(form.begins.pattern for form in _FORMS)


@dataclass
class Native:
    """What such a program said, whose end has not been seen. It began with `line`."""

    line: Line
    form: Form
    failures: Failures
    message: list[str]
    exception: str | None
    frames: tuple[Frame, ...] = ()
    causes: list[Raised] = field(default_factory=list)
    """What was told before: each was caused by the one that follows it."""
    message_line: int = 0
    last: int = 0
    lines: int = 1

    stage = "message"
    title = ""

    @property
    def kind(self) -> IncidentKind:
        return self.form.kind

    def accept(self, line: Line) -> bool:
        """Whether `line` goes on with it; takes it in if so."""
        near = line.number == self.last + 1 and self.lines < _LINES and line.level == self.line.level
        if not near or not self.form.goes_on.match(line.message):
            return False
        if self.form.cause and (cause := self.form.cause.match(line.message)):
            self.causes.append(self._raised())
            self.message, self.exception, self.message_line = [_short(line)], cause["name"], line.number
        elif self.form.says and self.form.says.match(line.message) and len(self.message) < _TEXT_LINES:
            self.message.append(_short(line))
        self.last, self.lines = line.number, self.lines + 1
        return True

    def accept_another(self, line: Line) -> bool:
        """A traceback never goes on with it."""
        return False

    def complete(self) -> list[Raised]:
        """The chain of exceptions, the deepest first."""
        chain = [*reversed([*self.causes, self._raised()])]
        return [*(replace(each, caused_next=True) for each in chain[:-1]), chain[-1]]

    def copy(self) -> Native:
        """The same, to be completed while this one goes on."""
        return replace(self, message=[*self.message], causes=[*self.causes])

    def _raised(self) -> Raised:
        first, *more = self.message
        words = f"{self.exception}: {' '.join(more)}".replace("::", ".") if self.kind == "crash" else first
        role = role_of(words, self.failures)
        text = "\n".join(self.message).rstrip()
        return Raised(self.exception, text, self.message_line, self.frames, role=role)


def begun_by(line: Line, failures: Failures) -> Native | None:
    """What begins with `line`, unless it was logged as harmless."""
    text = line.message
    if line.level in HARMLESS or not any(hint in text for hint in _HINTS):
        return None
    for form in _FORMS:
        if opening := form.begins.match(text):
            groups = opening.groupdict()
            return Native(
                line,
                form,
                failures,
                [groups.get("text") or _short(line)],
                groups.get("name") or form.name,
                _frames(groups.get("frames") or ""),
                message_line=line.number,
                last=line.number,
            )
    return None


def _frames(text: str) -> tuple[Frame, ...]:
    """The outermost first."""
    frames = [Frame(each["file"], int(each["line"]), each["function"]) for each in _FRAME.finditer(text)]
    return tuple(reversed(frames))


def _short(line: Line) -> str:
    return line.message[:_LINE_LETTERS]
