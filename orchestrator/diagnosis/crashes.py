"""Which lines say that a process ended without an exception of anything?"""

from __future__ import annotations

import re

from orchestrator.diagnosis.hearsay import HARMLESS
from orchestrator.diagnosis.lines import Line
from orchestrator.engines.log_grammar import Failures

_CRASH = re.compile(
    r"^Fatal Python error: |^(?:\S{1,400}: line \d{1,9}: {1,9}\d{1,10} )?(?:Segmentation fault|Bus error|Illegal instruction|Aborted)\b"
    r"|Segfault encountered|^Failed: Cuda error |: command not found$"
    # UCX's handler, and a shell or a container that may not run what it was told to
    r"|\bCaught signal \d{1,2} \((?:Segmentation fault|Bus error|Aborted|Illegal instruction|Floating point)"
    r"|^\S{0,80}sh: (?:line )?\d{1,6}: (?:exec: )?(?:\S{1,200}/)?(?:python[\d.]{0,5}|entrypoint\S{0,20}): (?:not found|Permission denied)$"
    r"|^exec /\S{1,300}: (?:permission denied|no such file or directory)$"
    r"|^(?:nohup|setsid|timeout|nice|ionice|stdbuf|taskset): failed to (?:run command|execute) |^numactl: execution of |^env: .{1,400}: No such file or directory$"
    r"|^\S{1,400}: Error while finding module specification for "
    # the kernel will not run what was built for another processor
    r"|^exec .{1,400}: exec format error$|exec user process caused.{0,40}exec format error|exec container process .{1,400}: Exec format error"
    r"|cannot execute binary file: Exec format error$"
    # the C library's own words: assert() and a heap that was overwritten
    r"|: Assertion `.{1,400}' failed\.$|^(?:double free or corruption|free\(\): |malloc\(\): |munmap_chunk\(\): |corrupted (?:size|double))"
    r"|^\*\*\* stack smashing detected \*\*\*"
    # ROCm's, which ends the process whose kernel it was
    r"|^(?:Memory access fault|HW Exception) by GPU node|aborting with error : HSA_STATUS_ERROR"
    r"|^(?:ERROR: {1,9})?\[Errno \d{1,6}\] error while attempting to bind on address|^nvidia-container-cli: |Watchdog caught collective operation timeout"
)
_DIED = re.compile(
    r"^docker: Error response from daemon|^Killed$|^\S{1,400}: line \d{1,9}: {1,9}\d{1,10} Killed\b"
)
_HINTS = (
    "Fatal Python", "ault", "Bus error", "Illegal", "Aborted", "Failed: Cuda", "not found", "rror",
    "xec format error", "GPU node", "HSA_STATUS_ERROR", "Assertion `", "double free", "free(): ", "malloc(): ", "_chunk(): ", "corrupted ", "smashing", "Watchdog", "[Errno", "Killed", "nvidia-container", ": failed to ", "numactl: ", "env: ", "Permission denied", "exec /",
)  # fmt: skip
"""One of these is in every line that one of the expressions fits."""


def hints(failures: Failures) -> tuple[str, ...]:
    """One of these is in every line that says that a process ended."""
    return (*_HINTS, *failures.crash_hints)


def telling(failures: Failures) -> tuple[str, ...]:
    """What a line must fit to say that a process ended."""
    return _CRASH.pattern, _DIED.pattern, failures.crashes.pattern, failures.deaths.pattern


def is_crash(line: Line, failures: Failures) -> bool:
    """Whether a process ended with `line`, by itself or by somebody else."""
    crashed = _CRASH.search(line.message) or failures.crashes.search(line.message)
    return (crashed is not None and line.level not in HARMLESS) or died_only(line.message, failures)


def is_word_of_a_shell(text: str) -> bool:
    """Whether it is a shell or a container that says that a process is gone."""
    return _DIED.search(text) is not None


def died_only(text: str, failures: Failures) -> bool:
    """Whether it is only said that a process is gone, so that anything else explains more."""
    return (_DIED.search(text) or failures.deaths.search(text)) is not None
