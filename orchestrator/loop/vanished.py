"""Which hosts of a group are gone while the others go on, and what becomes of the launches on those?

A lost connection alone ends nothing: the host may be well, and the same command resumes. A host that takes no new connection either
has lost power or network, and one that answers without its part of the launch was started anew or is going down: its ranks are lost to
the others, which wait for them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Literal, get_args

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
GOING_SECONDS = 3.0
"""After how long hosts that all answer are looked at once more: one that is shut down ends its programs, and with them the lock, before
its network."""
_SILENCE = ("host_unreachable", "connection_lost", "deadline")
"""How a host that cannot be reached anew says nothing at all."""
Presence = Literal["there", "bare", "gone"]
"""It answers; it answers and nothing of a launch lives there; it does not answer."""
_BESIDE: Mapping[Presence, tuple[Presence, ...]] = {"gone": ("there", "bare"), "bare": ("there",)}
"""On which hosts a launch is ended, with what it left, beside such a one."""
_WORDS: Mapping[Presence, str] = {
    "gone": "does not answer any more",
    "bare": "answers, and its part of the launch is gone",
}


def end_the_rest(
    readings: Sequence[Reading], lost: HostError, acting: Callable[[Reading], Acting]
) -> HostError:
    """What is raised instead of `lost`: where hosts of a group, or their parts of the launch, are gone and others are not, the launches
    on those are ended.

    `acting` gives what changes one host, with the lock of that host alone. Where all seem to be gone it is the network of whoever
    deploys that is: nothing is ended then.
    """
    if len(readings) == 1:
        return lost
    stand = side_by_side([partial(_presence, reading) for reading in readings])
    if set(stand) == {"there"}:
        time.sleep(GOING_SECONDS)
        stand = side_by_side([partial(_presence, reading) for reading in readings])
    hosts = {
        how: [reading for reading, own in zip(readings, stand, strict=True) if own == how]
        for how in get_args(Presence)
    }
    how: Presence = "gone" if hosts["gone"] else "bare"
    rest = [reading for reading, own in zip(readings, stand, strict=True) if own in _BESIDE[how]]
    if not hosts[how] or not rest:
        return lost
    words = f"{_named(hosts[how])} {_WORDS[how]}"
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
        return _part(job.host, job.name)
    except HostError as error:
        if error.code == "channel_refused":
            return "there"
        silent = error.code == "deadline"
    if job.reopen is None:
        return "there"  # nobody can tell
    try:
        with job.reopen() as anew:
            return _part(anew, job.name)
    except DeployError as error:
        if error.code not in _SILENCE:
            return "there"  # it answers, though nobody gets in: a key that has run out, say
    if silent:
        with suppress(HostError):
            job.host.run(":", deadline=PATIENCE_SECONDS)
            return "there"
    return "gone"


def _part(host: Host, name: str) -> Presence:
    """Whether something of a launch lives there; so it is taken to where the host does not tell."""
    with suppress(HostError):
        return "bare" if ask(host, Leftovers(instance=name)) is None else "there"
    return "there"


def _named(readings: Sequence[Reading]) -> str:
    return ", ".join(f"{reading.role} on {reading.job.host.name}" for reading in readings)
