"""What did a program on the host answer?

A program writes one JSON object a line: `{"value": ...}` or `{"error": {"code", "message"}}`. Anything
else on its standard output (a module that prints while it is imported) is no answer and is passed over.
"""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from orchestrator.base.errors import (
    CheckpointError,
    DeployError,
    HostError,
    Locked,
    PreflightRefused,
    UsageError,
)

_HALF = re.compile(rb"\\ud[89a-f]", re.IGNORECASE)
# As a shell reports it, and as `subprocess` does.
_ALARM = (128 + signal.SIGALRM, -signal.SIGALRM)
_NOT_FOUND = (126, 127)
_NEXT = {
    "host_python_old": "command -v python3; python3 --version  # on {host}",
    "deadline": "uptime  # on {host}: it answers too slowly; the same command resumes",
    "engines_folder": "ls -ld ~ ~/.local ~/.local/share/deploy  # on {host}",
    "install_no_space": "df -h ~/.local/share  # on {host}",
    "state_folder": "ls -ld ~ ~/.local ~/.local/state  # on {host}",
    "no_folder": "ls -ld ~  # on {host}",
    "cannot_start": "ulimit -a; free -g; ls -ld ~  # on {host}",
    "launch_kind": "grep -H kind ~/.local/state/deploy/*/launches/*/process.json  # on {host}",
    "will_not_die": "ps -eo pid,stat,wchan:24,args  # on {host}: state D waits for the kernel or the driver",
}
"""What to type on the host after a refusal there; which `deploy` command comes after another says `cli/hints.py`."""
_TOLD = ("host_python_old", "host_script")
_KINDS: dict[str, type[DeployError]] = {
    "foreign_folder": PreflightRefused,
    "shared_checkpoint": PreflightRefused,
    "not_writable": PreflightRefused,
    "no_folder": PreflightRefused,
    "engines_folder": PreflightRefused,
    "state_folder": PreflightRefused,
    "cannot_start": PreflightRefused,
    "no_room": PreflightRefused,
    "launch_kind": PreflightRefused,
    "engine_in_use": PreflightRefused,
    "engine_kept": PreflightRefused,
    "engine_busy": Locked,
    "wheels_busy": Locked,
    "install_no_space": PreflightRefused,
    "no_such_engine": UsageError,
    "already_running": Locked,
    "checkpoint_busy": Locked,
    "no_launch": UsageError,
    "instance_name": UsageError,
    "bad_request": UsageError,
    "no_checkpoint": CheckpointError,
    "checkpoint_folder": CheckpointError,
    "changed_meanwhile": CheckpointError,
    "backup_missing": CheckpointError,
    "config_missing": CheckpointError,
    "config_too_large": CheckpointError,
}
"""What a refusal on the host means for the exit code; any other is the host's own trouble."""


class HostTraceback(Exception):
    """The traceback of a program that failed on the host; the cause of the HostError."""

    def __str__(self) -> str:
        return "\n" + str(self.args[0])


@dataclass(frozen=True)
class Program:
    """What the messages about a program name: host, module, interpreter."""

    host: str
    module: str
    python: str


@dataclass(frozen=True)
class Answer:
    """One answer of a program."""

    value: Any


def read_line(program: Program, line: bytes) -> Answer | None:
    """The answer in one line, None where the line is none; raises the error that it reports."""
    try:
        record = json.loads(line)
        if _HALF.search(line):  # of a file's name that is no UTF-8, or a JSON file's: no output takes it
            record = json.loads(json.dumps(record, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict) or len(record) != 1:
        return None
    if "value" in record:
        return Answer(record["value"])
    error = record.get("error")
    if isinstance(error, dict) and "code" in error:
        raise _reported(program, error)
    return None


def last_answer(program: Program, lines: Iterable[bytes]) -> Answer | None:
    """The answer among the lines of a program that answers once."""
    answer = None
    for line in lines:
        answer = read_line(program, line) or answer
    return answer


def no_answer(program: Program, status: int, stderr: bytes, deadline: float | None) -> HostError:
    """Why a program ended with that status instead of an answer; `deadline` in seconds."""
    output = stderr.decode(errors="replace").strip()[-2000:]
    last = output.splitlines()[-1] if output else "it said nothing"
    if status in _ALARM:
        within = f" within {deadline:g} s" if deadline else " in time"
        return HostError(
            "deadline",
            f"{program.module} did not finish on {program.host}{within}.",
            next_command=_next("deadline", program),
        )
    if status in _NOT_FOUND or (status == 0 and not output):  # not even an error: no Python is so silent
        return HostError(
            "host_python_missing",
            f"{program.host} cannot run {program.python}: {last}",
            next_command=_next("host_python_old", program),
        )
    error = HostError("host_script", f"{program.module} ended with status {status} on {program.host}: {last}")
    error.__cause__ = HostTraceback(output) if output else None
    return error


def _reported(program: Program, error: dict[str, Any]) -> DeployError:
    code = str(error["code"])
    message = str(error.get("message", code))
    if code == "host_python_old":
        message = f"{program.python} on {program.host} is too old: {message}"
    elif code == "host_script":
        message = f"{program.module} failed on {program.host}: {message}"
    kind = _KINDS.get(code, HostError)
    reported = kind(
        code,
        message if code in _TOLD else f"{program.host}: {message}",
        next_command=_next(code, program),
        program=program.module,
    )
    if text := error.get("traceback"):
        reported.__cause__ = HostTraceback(text)
    return reported


def _next(code: str, program: Program) -> str | None:
    return _NEXT.get(code, "").replace("{host}", program.host) or None
