"""Do all hosts have the same engine, and what it stands on?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from orchestrator.checks.between.group_check import GroupCheck, alike, apart, known
from orchestrator.facts import engine
from orchestrator.facts.gather import Facts

SUBJECT = "engine"


def check(hosts: Mapping[str, Facts]) -> Iterator[GroupCheck]:
    """Release and Python have to be the same: what ranks send each other are objects of theirs. A host without an engine is told
    by a check of its own."""
    installed = known(hosts, engine.FACT)
    if len(installed) < len(hosts):
        return
    releases = alike({name: f"{each.distribution} {each.version}" for name, each in installed.items()})
    pythons = alike({name: ".".join(each.python.split(".")[:2]) for name, each in installed.items()})
    usual = installed[releases[0][1][0]]
    own = {"install": f"{usual.distribution}=={usual.version.partition('+')[0]}"}
    if len(releases) > 1:
        odd = releases[1][1][0]
        mend = f"{installed[odd].executable} -m pip install {usual.distribution}=={usual.version}  # on {odd}"
        yield GroupCheck(SUBJECT, "fail", apart(releases), mend, "engines_differ", own)
    elif len(pythons) > 1:
        words = f"{releases[0][0]} by Python {apart(pythons)}: ranks that send each other objects need one"
        yield GroupCheck(SUBJECT, "fail", words, None, "pythons_differ", own)
    else:
        yield GroupCheck(SUBJECT, "pass", f"{releases[0][0]} by Python {pythons[0][0]} on all")
    for what in ("torch", "nccl"):
        versions = alike({name: getattr(each, what) or "none" for name, each in installed.items()})
        if len(versions) > 1 and len(releases) == 1:
            yield GroupCheck(what, "warn", f"{apart(versions)}: they may not understand each other")
