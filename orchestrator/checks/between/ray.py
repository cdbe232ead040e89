"""Do all hosts have the same Ray, where it starts the ranks?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from orchestrator.checks.between.group_check import GroupCheck, alike, apart, known
from orchestrator.facts import engine
from orchestrator.facts.gather import Facts

SUBJECT = "ray"


def check(hosts: Mapping[str, Facts]) -> Iterator[GroupCheck]:
    """One of another release is refused by the head's, after half a minute. A host without any is told by its own plan."""
    installed = known(hosts, engine.FACT)
    releases = alike({name: each.ray for name, each in installed.items() if each.ray})
    if len(releases) == 1:
        yield GroupCheck(SUBJECT, "pass", f"Ray {releases[0][0]} on all")
    elif releases:
        (usual, _), (_, (odd, *_)), *_ = releases
        mend = f"{installed[odd].executable} -m pip install 'ray[cgraph]=={usual}'  # on {odd}"
        yield GroupCheck(SUBJECT, "fail", f"Ray {apart(releases)}", mend, "rays_differ")
