"""What does a launch wait for that stands still, by the stacks of its processes?"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from orchestrator.diagnosis.incident import Frame
from orchestrator.diagnosis.lines import Line
from orchestrator.diagnosis.stacks import Stack
from orchestrator.engines.libraries import WAITS
from orchestrator.engines.log_grammar import Dumps
from orchestrator.engines.waits import Wait

_WORDS: dict[Wait, str] = {
    "rendezvous": "waits for other ranks to join",
    "collective": "waits in a collective of the ranks",
    "kernel": "waits for a kernel on its GPU to end",
    "lock": "waits for a lock file",
    "compile": "compiles kernels",
    "hub": "waits for the Hub",
    "file": "reads a file",
    "import": "imports Python modules",
    "message": "waits for a message of another process",
    "other": "stands",
}
_MOST_TOLD = 9
_AHEAD: tuple[Wait, ...] = ("collective", "kernel")
"""Where the others wait for a rank that does something else."""


@dataclass(frozen=True)
class Standing:
    """What one process does, shown by which frame of its stack."""

    stack: Stack
    wait: Wait
    frame: Frame

    @property
    def sentence(self) -> str:
        """Who stands where, in words."""
        where = "/".join(PurePath(self.frame.file).parts[-2:])
        line = f":{self.frame.line}" if self.frame.line else ""
        pid = f" (pid {self.stack.pid})" if self.stack.pid else ""
        return f"{self.stack.process or 'a process'}{pid} {_WORDS[self.wait]}: {self.frame.function} in {where}{line}"


def of(stack: Stack, dumps: Dumps) -> Standing:
    """What a process waits for whose stack has a frame: what the innermost frame shows that shows anything. A lock is told
    where it guards a build; whoever fetches or loads a file behind one waits for that."""
    shown = ((wait, frame) for frame in stack.frames if (wait := _shown(frame, dumps)))
    locked = None
    for wait, frame in shown:
        if wait != "lock":
            return (
                Standing(stack, "lock", locked)
                if locked and wait == "compile"
                else Standing(stack, wait, frame)
            )
        locked = locked or frame
    return Standing(stack, "lock", locked) if locked else Standing(stack, "other", stack.frames[0])


def _shown(frame: Frame, dumps: Dumps) -> Wait | None:
    place = f"{frame.file} {frame.function}"
    return next((wait for wait, pattern in (*dumps.places, *WAITS) if re.search(pattern, place)), None)


@dataclass(frozen=True)
class Keeper:
    """Who keeps a launch that stands still, and the other processes."""

    by: Standing
    rest: tuple[Standing, ...]

    @property
    def wait(self) -> Wait:
        return self.by.wait

    @property
    def others(self) -> tuple[tuple[int, str], ...]:
        """A line of the log (0: it is in a file of its own) and a sentence for each place where others stand."""
        at: dict[tuple[Wait, Frame], list[Standing]] = {}
        for each in self.rest:
            at.setdefault((each.wait, each.frame), []).append(each)
        return tuple(_together(alike) for alike in [*at.values()][:_MOST_TOLD])

    @property
    def as_line(self) -> Line:
        """What stands for the last line of a log that has none but those of dumps."""
        who = self.by.stack
        return Line(who.line, who.process, who.pid, None, None, None, "")


def _together(alike: Sequence[Standing]) -> tuple[int, str]:
    first = alike[0]
    if len(alike) == 1:
        return first.stack.line, first.sentence
    names = ", ".join(each.stack.process or "?" for each in alike[1:_MOST_TOLD])
    return first.stack.line, f"{first.sentence}; so do {names}"


def kept_by(stacks: Sequence[Stack], dumps: Dumps) -> Keeper | None:
    """Who keeps the launch; None where nobody's stack is known.

    Who waits for a message waits for one of the others. Where some wait in a collective and others do something else, they
    wait for those.
    """
    standing = [of(stack, dumps) for stack in stacks]
    busy = [each for each in standing if each.wait != "message"] or standing
    among = [each for each in busy if each.wait not in _AHEAD] or busy
    if not among:
        return None
    most = Counter(each.wait for each in among).most_common(1)[0][0]
    first = next(each for each in among if each.wait == most)
    return Keeper(first, tuple(each for each in standing if each is not first))
