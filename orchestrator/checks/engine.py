"""Which engines are there, and is one in the Python that was named?"""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.checks.check import Check, not_known
from orchestrator.facts import engine
from orchestrator.facts.engine import InstalledEngine
from orchestrator.facts.examined import environments
from orchestrator.facts.examined.environments import Environment
from orchestrator.facts.gather import Facts
from orchestrator.facts.source import Unknown

SUBJECT = "engine"


def check(facts: Facts) -> Iterator[Check]:
    """The engine that was named, then every other one; none at all is a failure."""
    installed, listed = facts.of(engine.FACT), facts.of(environments.FACT)
    others = () if isinstance(listed, Unknown) else listed
    if isinstance(installed, InstalledEngine):
        yield _installed(installed, on_gpus=bool(facts.cards))
        others = tuple(other for other in others if other.python != installed.executable)
    elif installed.code in ("no_engine", "no_engine_python", "engine_python"):
        yield Check(SUBJECT, "fail", installed.reason, _instead(others))
    else:
        yield from not_known(SUBJECT, installed)
    yield from not_known("engines", listed)
    yield from (Check("engines", "pass", _words(other)) for other in others)
    if listed == () and isinstance(installed, Unknown) and installed.code == "not_asked":
        yield Check("engines", "fail", "no Python environment with one was found", "python3 -m venv ~/ml-env")


def _installed(installed: InstalledEngine, *, on_gpus: bool) -> Check:
    parts = [
        f"{installed.distribution} {installed.version} in {installed.executable}",
        f"torch {installed.torch}" if installed.torch else "",
        f"for CUDA {installed.torch_cuda}" if installed.torch_cuda else "",
        f"NCCL {installed.nccl}" if installed.nccl else "",
    ]
    words = ", ".join(filter(None, parts))
    if installed.on_cpu and on_gpus:
        return Check(SUBJECT, "warn", f"{words}: it is built for CPUs, the host has GPUs")
    return Check(SUBJECT, "pass", words)


def _words(other: Environment) -> str:
    torch = f", torch {other.torch}" if other.torch else ""
    return f"{other.distribution} {other.version} in {other.python}{torch}"


def _instead(others: tuple[Environment, ...]) -> str | None:
    return f"--set engine.python={others[0].python}    (has {others[0].version})" if others else None
