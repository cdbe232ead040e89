"""What is an incident, and what does it say by itself: a cause, or only what followed from one?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from orchestrator.diagnosis.crashes import died_only
from orchestrator.diagnosis.hearsay import HARMLESS
from orchestrator.diagnosis.lines import Line
from orchestrator.engines.log_grammar import Failures, LogGrammar, ProcessNames

TEARDOWN = re.compile(
    r"^(?:[\w.]{0,200}\.)?(?:RuntimeError: cancelled$|CancelledError|KeyboardInterrupt|SystemExit|GeneratorExit|BrokenPipeError"
    r"|EOFError|ConnectionResetError|ConnectionRefusedError|ZMQError|DistNetworkError|DistBackendError: .{0,400}remote process)"
    r"|Connection (?:reset|closed) by (?:remote )?peer|Broken pipe|was likely (?:closed|shut down)"
    r"|NCCL error: remote process exited|ncclRemoteError|[Cc]ommunicator was aborted"
    r"|(?:recvValue|sendBytes|recvBytes|recvVector) failed|failed to recv, got 0 bytes|Socket closed$"
)
_CANNOT_LISTEN = re.compile(r"[Aa]ddress already in use|EADDRINUSE|[Cc]annot assign requested address")
"""What a socket says at the start alone, under a name that it mostly has at the end."""
_LIBRARIES = re.compile(r"\.(?:cpp|cc|cu|hpp)(?::\d+)?$")
"""The source files of the libraries under an engine."""

_LITTLE = re.compile(
    r"^(?:[\w.]{1,120}:?\s*$|.{0,200}(?:(?:unhandled|internal|unknown|unspecified)(?: system)? error|[Ff]ile access error"
    r"|fail\w{0,3} to initiali|could not be initiali|initiali[sz]ation failed|exit(?:ed with)? (?:code|status)|non-zero (?:exit )?status))",
)
"""What an exception may say without a cause."""
_BARE = re.compile(r"[\w.]{1,160}:?\s{0,8}")
"""An exception of which only its name is told."""
_LOOKED_FOR = re.compile(r"(?:[\w.]{1,120}\.)?KeyError: \S{1,200}")
"""One that tells what was looked for, and not where."""
_STATUS = re.compile(r"^(?:[\w.]{0,200}\.)?CalledProcessError: ")

_MAIN = ("<module>", "_run_module_as_main")
_ENTRIES = (*_MAIN, "_bootstrap")
"""The outermost functions of a Python program and of a multiprocessing child."""

IncidentRole = Literal["initiating", "cascade", "teardown", "benign"]
"""initiating: may be a root cause; cascade: repeats or wraps somebody else's failure; teardown: what a dying
launch says (broken pipes, cancelled calls); benign: caught and logged below ERROR."""
IncidentKind = Literal["exception", "cut", "native", "refusal", "crash", "line"]
"""cut: a traceback whose exception is missing; native: what another language's program says where Python raises; line: not an incident by itself, the last line of a log that stands still or one that a patch looks for."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame of a traceback."""

    file: str
    line: int
    function: str


@dataclass(frozen=True, slots=True)
class Raised:
    """One exception of a chain: `exception` is the full name, `text` the whole of "Name: message"."""

    exception: str | None
    text: str
    line: int
    frames: tuple[Frame, ...] = ()
    caused_next: bool = False
    """Whether the next of the chain was raised `from` this one, rather than while handling it."""
    role: IncidentRole = "initiating"
    """What its text says by itself."""
    statement: str = ""
    """The line of source that raised it, as far as the traceback shows it."""

    @property
    def of_a_program(self) -> bool:
        """Whether it only tells with which status another program ended."""
        return _STATUS.match(self.text) is not None

    @property
    def words(self) -> str:
        """Its text; where that is a name alone the statement says what failed, unless only its first line is shown."""
        if self.statement and _LOOKED_FOR.fullmatch(self.text):
            return f"{self.text} in {self.statement}"
        bare = (
            self.statement
            and not self.statement.endswith(("(", "[", "{", ","))
            and _BARE.fullmatch(self.text)
        )
        return f"{self.text.rstrip(': ')}: {self.statement}" if bare else self.text

    @property
    def is_bare(self) -> bool:
        """Whether its name is all that it tells, and what was looked for."""
        return (_LOOKED_FOR.fullmatch(self.text) or _BARE.fullmatch(self.text)) is not None

    @property
    def gives_no_reason(self) -> bool:
        """Whether it only tells that something failed."""
        return self.of_a_program or _LITTLE.search(self.text.split("\n", 1)[0]) is not None


@dataclass(frozen=True, slots=True)
class Incident:
    """One thing that went wrong. `chain` begins with the exception that came first and is never empty."""

    kind: IncidentKind
    role: IncidentRole
    process: str | None
    pid: int | None
    level: str | None
    title: str
    chain: tuple[Raised, ...]
    first_line: int
    last_line: int
    lines: int
    of_engine: bool = False
    """Whether the engine says it of itself: one of its own processes, or its own code in the API server.

    Anything else may be printed by whoever repeats what clients send, once there are clients.
    """
    fatal: bool = False
    """Whether the incident itself shows that a process of the launch ended by it."""
    died_only: bool = False
    """Whether it only says that a process is gone, or where it failed, so that anything else explains more."""

    @property
    def leaves_program(self) -> bool:
        """Whether the program itself, not a child, ended by this exception."""
        frames = self.chain[-1].frames
        spawned = [frame.function for frame in frames[1:2]] == ["spawn_main"]  # whose program is a string
        main = bool(frames) and frames[0].function in _MAIN and not spawned
        return self.kind == "exception" and self.level is None and main

    @property
    def root(self) -> Raised:
        """The cause of the last exception as its author saw it, wrappers left out.

        A cause given with `from` is deeper; one that was merely being handled mostly is not, and a program's exit status is
        no cause beside what quotes the program.
        """
        deepest = at = len(self.chain) - 1
        while at > 0 and (self.chain[at - 1].caused_next or self.chain[at].role != "initiating"):
            if self.chain[at - 1].role != "initiating":
                break
            at -= 1
            deepest = deepest if self.chain[at].of_a_program else at
        return self.chain[deepest]


def role_of(text: str, failures: Failures) -> IncidentRole:
    """What an exception's text says by itself, whoever logged it."""
    if failures.wrappers.search(text):
        return "cascade"
    first = text.split("\n", 1)[0]
    return "teardown" if TEARDOWN.search(first) and not _CANNOT_LISTEN.search(first) else "initiating"


def incident_of(
    kind: IncidentKind,
    line: Line,
    chain: Sequence[Raised],
    grammar: LogGrammar,
    title: str = "",
    *,
    last: int | None = None,
    lines: int = 1,
) -> Incident:
    """The incident that began with `line` and ended with the line of number `last`, judged by what it says itself."""
    roles = {raised.role for raised in chain}
    role: IncidentRole = (
        "initiating" if "initiating" in roles else "teardown" if "teardown" in roles else "cascade"
    )
    if kind in ("exception", "cut") and line.level in HARMLESS:
        role = "benign"
    return Incident(
        kind, role, line.process, line.pid, line.level, title, tuple(chain), line.number, last or line.number, lines,
        of_engine=_says_of_itself(line, grammar.processes),
        fatal=_is_fatal(kind, role, line.level, title, chain[-1], grammar.failures),
        died_only=_died_only(kind, chain[-1].text, grammar.failures),
    )  # fmt: skip


def _died_only(kind: IncidentKind, text: str, failures: Failures) -> bool:
    if kind == "exception":  # no shell's word, whatever its name is
        return failures.deaths.search(text) is not None
    return kind == "cut" or (kind == "crash" and died_only(text, failures))


def _says_of_itself(line: Line, processes: ProcessNames) -> bool:
    if line.level is not None and line.file:
        # an engine's process logs clients' grammars, adapters and request names as well
        own = processes.files.search(line.file) or _LIBRARIES.search(line.file)
        keeps = processes.keepers and processes.keepers.search(f"{line.process} {line.file}")
        return (own or keeps) is not None
    return (line.process or "").startswith(processes.speaking)


def _is_fatal(
    kind: IncidentKind, role: IncidentRole, level: str | None, title: str, last: Raised, failures: Failures
) -> bool:
    if kind == "native":
        return False
    if kind != "cut" and (kind != "exception" or role == "cascade"):
        return True
    uncaught = level is None and bool(last.frames) and last.frames[0].function in _ENTRIES
    return uncaught or failures.fatal_titles.match(title) is not None
