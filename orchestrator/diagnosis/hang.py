"""Does a launch stand still, and what keeps it?"""

from __future__ import annotations

import re
from collections.abc import Sequence

from orchestrator.diagnosis.launches import LaunchLog
from orchestrator.diagnosis.lines import Line
from orchestrator.diagnosis.stacks import Stack, stuck
from orchestrator.diagnosis.standing import Keeper, kept_by
from orchestrator.diagnosis.standstill import standstill

USUAL_SILENCE = 600.0
"""Seconds without a line after which a launch hangs (NCCL's own timeout), unless its phase may take longer."""
_STALL_NOTICES = 3
_ASIDE = re.compile(r"The hostname of the client socket cannot be retrieved")
"""What torch says, healthy or not, of hosts whose addresses have no names, when it begins to wait for them."""
STUCK_SECONDS = 180.0
"""How long requests of a server may run without a token of any of them."""


def hangs(
    launch: LaunchLog, idle_seconds: float | None, dumped: Sequence[Stack] = (), *, serves: bool = False
) -> bool:
    """Whether it stands still: by how long its log says nothing new, or by stacks that were dumped of it. `dumped` are those
    from files of their own, of a launch that is known not to go on: while it starts it may only take its time. `serves`:
    it is a server's though its log does not say that it came up."""
    startup = launch.startup
    pulse = launch.grammar.pulse
    up = serves or bool(startup.up_line)
    if _in_the_log(launch) or (up and any(stack.why for stack in _stuck(launch, dumped))):
        return True
    still = standstill(launch.tail, startup.is_progress, pulse)
    if up:
        waits = still.stuck and still.seconds > STUCK_SECONDS
        return waits or startup.stalled >= _STALL_NOTICES
    # a notice every so often is no progress: it says that a rank has not answered since the last one
    beating = max(still.seconds, startup.stalled * pulse.stall_seconds)
    budget = launch.grammar.start.silence.get(startup.phase.name, USUAL_SILENCE)
    return beating + (idle_seconds or 0.0) > budget


def keeper(launch: LaunchLog, dumped: Sequence[Stack] = ()) -> Keeper | None:
    """What keeps it, by the stacks of its processes; None where none were dumped."""
    return kept_by(_stuck(launch, dumped) or _in_the_log(launch), launch.grammar.dumps)


def last_word(launch: LaunchLog) -> Line | None:
    """The last line that says what it was doing."""
    last = launch.startup.last
    if last is None or not _ASIDE.search(last.message):
        return last
    words = (
        line for line in reversed(launch.tail) if line.message.strip() and not _ASIDE.search(line.message)
    )
    return next(words, last)


def _stuck(launch: LaunchLog, stacks: Sequence[Stack]) -> tuple[Stack, ...]:
    return stuck(stacks, launch.grammar.dumps)


def _in_the_log(launch: LaunchLog) -> tuple[Stack, ...]:
    """The stacks in the log itself, where the launch did not go on after them."""
    stacks = _stuck(launch, launch.stacks.read)
    last = max((stack.last for stack in stacks), default=0)
    if last <= launch.startup.phase.line or any(
        _goes_on(line, launch) for line in launch.tail if line.number > last
    ):
        return ()
    return stacks


def _goes_on(line: Line, launch: LaunchLog) -> bool:
    """Whether a line shows that something was done: a record that is no heartbeat."""
    pulse = launch.grammar.pulse
    beats = pulse.asked.search(line.message) or pulse.idle.search(line.message)
    return (
        line.level is not None
        and not line.hearsay
        and not beats
        and (pulse.stall or "\n") not in line.message
    )
