"""How does the log of an engine read?

A grammar is a value: expressions and small functions of text, by subject. `diagnosis/` holds the code that reads any log by
one; what Python, NCCL, the kernel and the launchers print is the same for every engine and stands there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from orchestrator.engines.waits import Wait


class Head(NamedTuple):
    """What stands before the message of a record: None where the line does not say.

    `level` is None for output without a header of the engine's own, and "" where its headers name none. `time` is
    "MM-DD HH:MM:SS". `rest` is the message; `prefix` what somebody configured to stand before every record.
    """

    process: str | None
    pid: int | None
    level: str | None
    time: str | None
    file: str | None
    rest: str
    prefix: str = ""


@dataclass(frozen=True)
class Records:
    """How one record of the log is dressed.

    `opening` is an expression for the headers with which nobody else begins a line; `plain` where others stamp lines in the
    same form, so that a header shows the engine only with what follows it. `unglue` parts a raw line into which several processes wrote; it takes no two records for what one of them quotes.
    `goes_on`: a record of several lines has a header on the first alone.
    """

    head: Callable[[str], Head]
    opening: str
    plain: bool = False
    unglue: Callable[[str], list[str]] = lambda text: [text]
    goes_on: bool = False


@dataclass(frozen=True)
class ProcessNames:
    """Who speaks in the log, by how the names begin.

    `front` repeats what clients send (lower case); `children` are no server, so none of them says that another launch
    begins; `ranks` compute a part of the model each, in step; `speaking` are the engine's own where output has no header. `alone` is the name of one that has none in the log as
    long as it is the only one. `keepers` fits "NAME FILE" of a record by one that looks after the others and has no clients. `files`: the source files in
    which the engine says that it has died. `named` (groups name, pid) finds in bytes of the log the headers that name a process.
    """

    front: tuple[str, ...]
    children: tuple[str, ...]
    speaking: tuple[str, ...]
    files: re.Pattern[str]
    named: re.Pattern[bytes]
    keepers: re.Pattern[str] | None = None
    ranks: tuple[str, ...] = ()
    alone: str | None = None


@dataclass(frozen=True)
class Clients:
    """Which records consist of what a client sent: those that begin with one of `sentences`, and those below ERROR from
    one of `sources`.

    `request` begins each line of the request log. A record below ERROR whose beginning `goes_on` fits consists of it too, and
    so does what follows under the same header.
    """

    sentences: tuple[str, ...]
    sources: re.Pattern[str]
    request: str
    goes_on: re.Pattern[str] | None = None


@dataclass(frozen=True)
class Portrait:
    """What a line tells of the launch; None where it tells nothing. `arguments` (names with underscores) are those that were
    given, `settings` what the engine made of them."""

    version: str | None = None
    arguments: Mapping[str, str] | None = None
    settings: Mapping[str, str] | None = None
    kv_tokens: int | None = None
    context: int | None = None
    """Tokens of one request, where the engine has taken fewer than the model's own."""
    compute_cap: str | None = None
    attention_backend: str | None = None


@dataclass(frozen=True)
class Start:
    """How a start goes, and what the engine tells of itself meanwhile.

    `phases` in their order: the first is "starting", the last "up"; from "starting server" on the server may answer.
    `milestones` has a named group for each of the others (blanks as underscores) and fits a line that shows the phase;
    one of `hints` is in every such line, since that is looked for first. `counted` phases show a progress bar.

    A server begins with a line that `begins` fits at its start (one of `begin_hints` in it), logged from one of `starters`,
    or with the command that a shell echoed: `commanded` gives its arguments, None for any other command.
    `stopping` fits what it says when it was told to stop (`stop_hint` is in it), `leaving` what it says last, however it ends.
    `portrait` reads a milestone, `detail` any other line of the start (one of `detail_hints` in it).
    One of `details` fits every line on which `detail` is not empty, one of `commands` those on which `commanded` is not None.

    `meeting` fits the milestones of ranks that meet: one that waits there for the others (group `place`: the address that all of
    them were given, "" where it is not told), and that all have come (group `met`).

    `shares` are the settings whose product is the number of GPUs of one replica, `shown` the one that belongs to the evidence
    of a failure. `silence`: seconds without a line after which a launch hangs in that phase, where it is not the usual time.
    """

    phases: tuple[str, ...]
    milestones: re.Pattern[str]
    hints: tuple[str, ...]
    counted: frozenset[str]
    begins: re.Pattern[str]
    begin_hints: tuple[str, ...]
    starters: re.Pattern[str]
    stopping: re.Pattern[str]
    stop_hint: str
    portrait: Callable[[str], Portrait]
    commanded: Callable[[str], Mapping[str, str] | None] = lambda _text: None
    detail: Callable[[str], Portrait] = lambda _text: Portrait()
    leaving: re.Pattern[str] = re.compile(r"(?!)")
    detail_hints: tuple[str, ...] = ()
    details: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    meeting: re.Pattern[str] = re.compile(r"(?P<place>)(?P<met>)(?!)")
    shares: tuple[str, ...] = ()
    shown: str | None = None
    silence: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))


class Doing(NamedTuple):
    """What a process was doing in a `frame` of a traceback ("folder/file.py:function"); `waits`: for another process, in
    whose words the cause is."""

    frame: re.Pattern[str]
    words: str
    waits: bool = False


@dataclass(frozen=True)
class Failures:
    """What the engine says when something goes wrong.

    `wrappers`: sentences that only say that another process failed. `titles`: headings of its tracebacks, which end an
    exception's message above them; `fatal_titles` those after which the process does not go on. `asides`: raw output with
    which no exception's message goes on. `programs`: words of which one is in every refusal of its command line.
    `crashes` end a launch without an exception, `deaths` only say that a process is gone; one of `crash_hints` is in each.
    `unanswered` only say that another process, maybe of another host, did not answer in time. `unborn` are those wrappers by which
    a process says that one which it had started on its own host failed before it was ready.
    `words` are what nobody else says, also where no line has a header: an option of its own, a package.
    `quotation` (group `text`) finds in a wrapper the words of whom it wraps. `doings`: what the engine does where in its
    own code. `appended` begins what stands below some exceptions' text whatever the reason is.
    """

    wrappers: re.Pattern[str]
    titles: re.Pattern[str]
    fatal_titles: re.Pattern[str]
    asides: re.Pattern[str]
    programs: tuple[str, ...]
    crashes: re.Pattern[str]
    deaths: re.Pattern[str]
    crash_hints: tuple[str, ...] = ()
    quotation: re.Pattern[str] | None = None
    unanswered: re.Pattern[str] = re.compile(r"(?!)")
    unborn: re.Pattern[str] = re.compile(r"(?!)")
    words: re.Pattern[str] | None = None
    doings: tuple[Doing, ...] = ()
    appended: re.Pattern[str] = re.compile(r"(?!)")


@dataclass(frozen=True)
class Pulse:
    """What stands in the log of an engine that does nothing.

    `asked`: somebody asks whether it lives. `idle` (group `running`): no token was made for so many requests. `stall` is in a
    notice that a process waits for another one, which comes every `stall_seconds`; None where the engine gives none.
    `serves`: figures of its work, which only an engine that serves has.
    """

    asked: re.Pattern[str]
    idle: re.Pattern[str]
    stall: str | None = None
    stall_seconds: float = 60.0
    serves: re.Pattern[str] = re.compile(r"(?!)")


@dataclass(frozen=True)
class Dumps:
    """How stacks of the engine's processes are dumped, besides what Python and py-spy print by themselves.

    `begins` (group `why`) is the heading of one process's dump; what has `stalled` in that group was dumped since the process
    stood still. `named` (groups name, pid) finds in a file's path whose dump it holds. `places` are what frames of the engine's
    own show, by expressions for "FILE FUNCTION"; they go before what is known of every engine.
    """

    begins: re.Pattern[str] | None = None
    stalled: str | None = None
    named: re.Pattern[str] | None = None
    places: tuple[tuple[Wait, str], ...] = ()


@dataclass(frozen=True)
class BackendRefusal:
    """What the engine's choice of an attention backend, or of a kernel for a `layer` of another kind, refused: `config` as it
    printed it (values are text: "True", "fp8_e4m3"), the reasons of each that it tried, and the one that was forced, if any."""

    device: str | None
    config: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    reasons: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))
    forced: str | None = None
    layer: str | None = None


@dataclass(frozen=True)
class LeastChange:
    """What would leave a backend without an objection: the selector's `settings` that change together (none where
    no change would do), the `backends` that would then run, and a sentence that tells both with what was seen."""

    settings: tuple[str, ...]
    backends: tuple[str, ...]
    sentence: str


@dataclass(frozen=True)
class LogGrammar:
    """How the log of one kind of engine reads. `refusal` finds a refusal in an exception's text, `least_change` what would
    undo one (one or more of the `mendable` settings), by the arguments of the command line where they are known; `brief` says
    in few words a long cause of which the engine knows what decides it (None or "" of any other)."""

    kind: str
    records: Records
    processes: ProcessNames
    clients: Clients
    start: Start
    failures: Failures
    pulse: Pulse
    dumps: Dumps = Dumps()
    refusal: Callable[[str], BackendRefusal | None] = lambda _text: None
    least_change: Callable[[BackendRefusal, Mapping[str, str] | None], LeastChange | None] = (
        lambda _refusal, _arguments: None
    )
    mendable: tuple[str, ...] = ()
    brief: Callable[[str], str | None] = lambda _text: None
