"""Which hosts of a group are gone while the others go on, and what becomes of the launches on those?

A lost connection alone ends nothing: the host may be well, and the same command resumes. A host that takes no new connection either,
or takes one and has nothing of the launch any more, has lost power or network, and its ranks are lost to the others, which wait for
them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Literal

from orchestrator.base.errors import DeployError, HostError
from orchestrator.hosts.host import Host
from orchestrator.loop.acting import Acting
from orchestrator.loop.reading import Reading
from orchestrator.loop.side_by_side import side_by_side
from orchestrator.loop.together import Together
from orchestrator.programs.ask import ask
from orchestrator.programs.leftovers import Leftovers

ANSWER_SECONDS = 10.0
"""How long a host may take to say anything on the connection that it has, before it is asked on a new one."""
PATIENCE_SECONDS = 20.0
"""How much longer one may take that was only silent and is not reached anew: a machine without a moment to spare is not gone."""
Presence = Literal["there", "bare", "gone"]
"""It answers; it answers anew and nothing of the launch lives there; it does not answer."""
_WORDS = {"gone": "does not answer any more", "bare": "answers again and has lost its part of the launch"}


def end_the_rest(
    readings: Sequence[Reading], lost: HostError, acting: Callable[[Reading], Acting]
) -> HostError:
    """What is raised instead of `lost`: where hosts of a group are gone and others are not, the launches on those are ended.

    `acting` gives what changes one host, with the lock of that host alone. Where all seem to be gone it is the network of whoever
    deploys that is: nothing is ended then.
    """
    if len(readings) == 1:
        return lost
    stand = side_by_side([partial(_presence, reading) for reading in readings])
    gone = [reading for reading, how in zip(readings, stand, strict=True) if how != "there"]
    rest = [reading for reading, how in zip(readings, stand, strict=True) if how == "there"]
    if not gone or not rest:
        return lost
    if "gone" not in stand and not any(_lives(reading.job.host, reading.job.name) for reading in rest):
        return lost  # nothing had been launched on any of them
    kinds: list[Presence] = ["gone", "bare"]
    named = {
        kind: [reading for reading, how in zip(readings, stand, strict=True) if how == kind] for kind in kinds
    }
    words = "; ".join(f"{_named(own)} {_WORDS[kind]}" for kind, own in named.items() if own)
    try:
        Together([acting(reading) for reading in rest]).end()
    except DeployError as error:
        left = f"what waits for it on {_named(rest)} could not be ended: {error.message}"
        return HostError("host_vanished", f"{words}; {left}")
    return HostError("host_vanished", f"{words}; what waited for it is ended on {_named(rest)}")


def _presence(reading: Reading) -> Presence:
    job = reading.job
    try:
        job.host.run(":", deadline=ANSWER_SECONDS)
        return "there"
    except HostError as error:
        if error.code == "channel_refused":
            return "there"
        silent = error.code == "deadline"
    if job.reopen is None:
        return "there"  # nobody can tell
    with suppress(HostError), job.reopen() as anew:
        return "there" if _lives(anew, job.name) else "bare"
    if silent:
        with suppress(HostError):
            job.host.run(":", deadline=PATIENCE_SECONDS)
            return "there"
    return "gone"


def _lives(host: Host, name: str) -> bool:
    """Whether something of a launch lives there; so it is taken to where the host does not tell."""
    try:
        return ask(host, Leftovers(instance=name)) is not None
    except HostError:
        return True


def _named(readings: Sequence[Reading]) -> str:
    return ", ".join(f"{reading.role} on {reading.job.host.name}" for reading in readings)
