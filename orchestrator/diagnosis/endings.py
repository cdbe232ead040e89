"""With which line does a log end that says of itself that the launch is over?

A shell, a container, a batch system, a supervisor or the program itself says so, and mostly not why. Only what stands
behind the last sign of life counts: in the middle of a log such a line is about something else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from orchestrator.diagnosis import notices
from orchestrator.diagnosis.lines import Line
from orchestrator.engines.log_grammar import LogGrammar

if TYPE_CHECKING:
    from orchestrator.diagnosis.launches import LaunchLog

_BEHIND = 60
"""Lines at the end of a log that may follow its last sign of life."""
_LIVELY = ("INFO", "DEBUG", "")
_LEFT = re.compile(
    r"\bwas not called before (?:program exit|destruct)|resource_tracker: There appear to be \d|^nanobind: leaked |^\[--[a-z][\w-]{1,80} "
)
"""What a program that ends leaves behind in its log; one that was called with wrong arguments, the middle of its usage."""
_NOT_STARTED = re.compile(
    r"\b(?P<who>[\w.-]{2,80}(?: [\w-]{1,40}){0,4}) (?:failed to (?:start|launch|load|initiali[sz]e|become ready|come up)"
    r"|(?:did not|never) (?:start|become ready|come up|respond)|(?:exited|terminated|stopped|died) (?:unexpectedly|before|during)|crashed\b|startup (?:failed|timed out)|is not ready (?:after|within))"
)
"""With what a launcher says that what it started is not there, in a record of its own."""
ELSEWHERE = (
    "No line of this log is the engine's own. Look into the log of the process that was started (docker logs, journalctl -u, "
    "kubectl logs --previous), or start it by hand with the arguments that stand here."
)
_RECORD = re.compile(r".{0,80}(?:\d\d:\d\d:\d\d|\b(?i:err|error|fatal|crit|critical)\b)")
_PROMPT = re.compile(
    r"^(?:\([\w .-]{1,40}\) ?)?(?:\[?[\w.-]{1,40}@[\w.-]{1,80}[: ][^\]$#%>]{0,120}\]?[$#%>]|(?:bash|sh|zsh)-\d[\d.]{0,8}[$#%]|PS [A-Z]:\\[^>]{0,120}>|[➜❯] )(?: (?P<command>.*))?$"
)
_BARE = re.compile(r"^[$#] (?P<command>.*)$")
_SHOWS = re.compile(
    r"\b(?:logs|journalctl|cat|zcat|tail|head|less|more|grep|rg|bat|stern)\b|&\s*$|\b(?:nohup|setsid|systemctl|sbatch|tmux|screen)\b| (?:-d|--detach)\b"
)
"""What a command that shows a log, or starts something that goes on by itself, has in it: a prompt behind it says nothing."""


def last_word(launch: LaunchLog) -> Line | None:
    """The line that says most of the end, None where the log may go on."""
    behind = _behind_life(launch)
    start = launch.grammar.start
    for says in (notices.NOTICES, start.stopping, start.leaving, _LEFT):
        last = next((line for line in behind if says.search(line.message.strip())), None)
        if last is not None:
            return last
    for line in behind:
        if is_a_launchers(line, launch):
            return line
    if _only_errors(launch):
        return next(line for line in launch.end if _is_error(line))
    if not behind or _shown(launch.head):
        return None
    stopped = next((line for line in behind if line.message.startswith("^C")), None)
    prompt = _PROMPT.match(behind[-1].message.strip())
    if stopped is None and prompt and not _starts(prompt["command"], launch.grammar):
        stopped = behind[-1]
    return stopped


def is_a_launchers(line: Line, launch: LaunchLog) -> bool:
    """Whether somebody says with it that an engine, which he started and which says nothing itself, is not there."""
    if launch.startup.reached or launch.startup.begun:
        return False
    recorded = bool((line.dress or "").strip()) or _RECORD.match(line.message) is not None
    named = _NOT_STARTED.search(line.message) if recorded else None
    return named is not None and launch.grammar.kind in named["who"].lower()


def is_left_behind(text: str) -> bool:
    """Whether it is what a program leaves behind that ended somehow, such as a tracker of resources: it says nothing of why."""
    return _LEFT.search(text) is not None


def _behind_life(launch: LaunchLog) -> list[Line]:
    """The last lines, from the one on behind which nothing shows that the launch goes on."""
    behind: list[Line] = []
    for line in reversed(launch.end[-_BEHIND:]):
        if not line.message.strip():
            continue
        if line.hearsay or _lives(line, launch):
            break
        behind.append(line)
    return behind[::-1]


def _lives(line: Line, launch: LaunchLog) -> bool:
    start = launch.grammar.start
    goes_on = line.level in _LIVELY or launch.startup.is_progress(line.message)
    return goes_on and not (start.stopping.search(line.message) or start.leaving.search(line.message))


def _only_errors(launch: LaunchLog) -> bool:
    """Whether somebody kept the errors of a log alone."""
    return (
        not launch.startup.reached
        and any(_is_error(line) for line in launch.end)
        and not any(line.level in _LIVELY for line in launch.end)
    )


def _is_error(line: Line) -> bool:
    return line.level in ("ERROR", "CRITICAL") and not line.hearsay and bool(line.message.strip())


def _starts(command: str | None, grammar: LogGrammar) -> bool:
    return bool(command) and grammar.start.commanded(f"$ {command}") is not None


def _shown(head: Sequence[Line]) -> bool:
    """Whether the command with which a log begins only shows it, or does not wait for what it starts."""
    commands = (_PROMPT.match(line.message) or _BARE.match(line.message) for line in head)
    return any(match and _SHOWS.search(match["command"] or "") for match in commands)
