"""What does the host know about how a launch ended?"""

from __future__ import annotations

from orchestrator.programs.processes import NamedProcess
from orchestrator.programs.request import Request, Value


class Kills(Value):
    """How many processes were killed for want of memory since the launch began; None for what cannot be told."""

    group: int | None = None
    """Of the launch's control group."""
    machine: int | None = None
    limit: int | None = None
    """Bytes of main memory that the group may use, where its own limit was reached."""


class Kill(NamedProcess):
    """A process that the kernel's log says was killed, that line, and the control group whose limit was reached (None: the
    machine was full, or the kernel does not say)."""

    text: str
    group: str | None = None


class Reported(Value):
    """A line of the kernel's log that a card or a program failed, and whose pid it names, if one."""

    text: str
    pid: int | None = None


class End(Value):
    """Who was killed since the launch began."""

    exit_code: int | None = None
    rebooted: bool = False
    oom_kills: Kills = Kills()
    kernel: tuple[Kill, ...] | None = None
    """None where the kernel's log cannot be read."""
    faults: tuple[Reported, ...] = ()
    """What the driver and the processor reported since the launch began, the first first."""


class Ended(Request[End]):
    program = "ended"

    instance: str
    launch: int
