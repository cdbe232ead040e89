"""Does the host's clock agree with ours?"""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.base.amounts import duration
from orchestrator.checks.check import Check, not_known
from orchestrator.facts.examined import clock
from orchestrator.facts.gather import Facts
from orchestrator.facts.source import Unknown

SUBJECT = "clock"
MOST_SECONDS = 60.0
"""Certificates and signed addresses of downloads bear more; the times of logs of several hosts do not."""
MEND = "sudo timedatectl set-ntp true"


def check(facts: Facts) -> Iterator[Check]:
    """How far it is off at least, and whether anything keeps it right."""
    read = facts.of(clock.FACT)
    if isinstance(read, Unknown):
        yield from not_known(SUBJECT, read)
        return
    if read.ahead is not None and abs(read.ahead) > MOST_SECONDS:
        way = "ahead of" if read.ahead > 0 else "behind"
        words = f"{duration(abs(read.ahead))} {way} ours: downloads over TLS may be refused"
        yield Check(SUBJECT, "warn", words, MEND)
        return
    kept = {True: ", kept right by the network", False: ", and nothing keeps it right", None: ""}[
        read.synchronised
    ]
    agrees = "agrees with ours" if read.ahead is not None else "was not compared"
    yield Check(
        SUBJECT,
        "warn" if read.synchronised is False else "pass",
        f"{agrees}{kept}",
        None if read.synchronised is not False else MEND,
    )
