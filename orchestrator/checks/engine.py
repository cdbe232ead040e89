"""Is there an engine in the Python that was named?"""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.checks.check import Check, not_known
from orchestrator.facts import engine
from orchestrator.facts.gather import Facts
from orchestrator.facts.source import Unknown

SUBJECT = "engine"


def check(facts: Facts) -> Iterator[Check]:
    """The engine with its version and what it stands on; nothing where no Python was named."""
    installed = facts.of(engine.FACT)
    if isinstance(installed, Unknown):
        if installed.code in ("no_engine", "no_engine_python", "engine_python"):
            yield Check(SUBJECT, "fail", installed.reason)
        else:
            yield from not_known(SUBJECT, installed)
        return
    torch = f", torch {installed.torch}" if installed.torch else ""
    words = f"{installed.distribution} {installed.version} in {installed.executable}{torch}"
    if installed.on_cpu and facts.cards:
        yield Check(SUBJECT, "warn", f"{words}: it is built for CPUs, the host has GPUs")
    else:
        yield Check(SUBJECT, "pass", words)
