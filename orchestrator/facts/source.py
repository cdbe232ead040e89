"""How is a fact asked for, and what came back when it was?"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Command:
    """The argument list that tells a fact, and how many seconds it may take; `~` is expanded on the host."""

    argv: tuple[str, ...]
    timeout: float = 15.0
    environment: Mapping[str, str] = field(default_factory=dict)
    """What it is asked with, besides the host's own."""

    @classmethod
    def sh(cls, text: str, *arguments: str, timeout: float = 15.0) -> Command:
        """An sh text; the arguments are its $1, $2, ... and are never read as shell."""
        return cls(("/bin/sh", "-c", text, "sh", *arguments), timeout)


@dataclass(frozen=True)
class Output:
    """What a command printed before it ended; `rc` is 124 where its time was over."""

    rc: int
    out: str
    err: str = ""


@dataclass(frozen=True)
class Unknown:
    """A fact that could not be had, with a stable code and the reason in one sentence."""

    code: str
    reason: str


@dataclass(frozen=True)
class Package:
    """How an engine is found in a Python: the names that it is distributed under, the usual one first, and the module that
    can be imported."""

    distributions: tuple[str, ...]
    module: str


@dataclass(frozen=True)
class Query:
    """What facts are asked for; `~` in the folder and the interpreter is the home folder on the host.

    `engine_python` None: the engine is not asked for. It is asked with the environment that it will be started with:
    PYTHONPATH decides what it finds.
    """

    folder: str
    engine_python: str | None = None
    package: Package = Package((), "")
    """The engine that is looked for there."""
    environment: Mapping[str, str] = field(default_factory=dict)
    together: bool = False
    """Whether it is to serve together with other hosts: how it stands among them is asked too."""
    examined: bool = False
    """Whether the whole host is examined: what a launch need not know is asked too."""
    between: tuple[float, float] | None = None
    """When the host was asked and when it had answered, by our clock, in seconds since 1970; None where nobody noted it."""


@dataclass(frozen=True)
class Fact(Generic[T]):
    """One thing that is true on a host: the FACT of a file in this folder, by whose name it goes."""

    name: str
    command: Callable[[Query], Command | Unknown]
    """What tells it, or why it is not asked for."""
    read: Callable[[Output | Unknown, Query], T | Unknown]
    form: Any
    """The type of what is read, by which one that was saved is read again."""
    by_line: bool = False
    """Whether its lines stand each by itself, so that what was said before the time was over counts."""
    beside: Callable[[T, Mapping[str, object]], T | Unknown] | None = None
    """Judges it once more by the other facts, by name."""


def plain(command: Command) -> Callable[[Query], Command]:
    """The command of a fact that depends on nothing."""
    return lambda _: command


def parsed(parse: Callable[[Output], T | Unknown]) -> Callable[[Output | Unknown, Query], T | Unknown]:
    """The reading of a fact that depends on nothing but what was said."""
    return lambda output, _: output if isinstance(output, Unknown) else parse(output)


TIMED_OUT = 124


@dataclass(frozen=True)
class Printed:
    """A command that ended: its exit status, and what it printed in base64."""

    rc: int
    stdout: str
    stderr: str


@dataclass(frozen=True)
class NoProgram:
    """The program that does not exist on the host."""

    missing: str


@dataclass(frozen=True)
class NotRun:
    """Why a command could not be run, in one sentence."""

    refused: str


@dataclass(frozen=True)
class OutOfTime:
    """A command that was ended after so many seconds, and what it had printed by then in base64."""

    timed_out: float
    stdout: str = ""


Reply = Printed | NoProgram | NotRun | OutOfTime
"""What became of one command, as `on_host/programs/read_facts.py` answers."""


def answer(reply: Reply, *, by_line: bool = False) -> Output | Unknown:
    """What a reply says, decoded; bytes that are not UTF-8 are replaced."""
    if isinstance(reply, NoProgram):
        return Unknown("no_such_program", f"{reply.missing} does not exist on the host")
    if isinstance(reply, NotRun):
        return Unknown("cannot_run", f"cannot be run: {reply.refused}")
    if isinstance(reply, Printed):
        return Output(reply.rc, _text(reply.stdout), _text(reply.stderr))
    why = f"no answer within {reply.timed_out:g} s"
    if by_line and reply.stdout:
        whole, _, _ = _text(reply.stdout).rpartition("\n")  # a line that was cut off says another thing
        return Output(TIMED_OUT, f"{whole}\n", why)
    return Unknown("no_answer", why)


def _text(packed: str) -> str:
    return base64.b64decode(packed).decode("utf-8", "replace")
