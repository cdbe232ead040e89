"""Which engines are there, and is one in the Python that was named?"""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.checks.check import Check, not_known
from orchestrator.engines import registry
from orchestrator.facts import engine
from orchestrator.facts.engine import InstalledEngine
from orchestrator.facts.examined import environments
from orchestrator.facts.examined.environments import Environment
from orchestrator.facts.gather import Facts
from orchestrator.facts.source import Unknown
from orchestrator.playbook.pinned import PinnedEngine, offered

SUBJECT = "engine"


def check(facts: Facts, installs: PinnedEngine | None = None) -> Iterator[Check]:
    """The engine that was named, then every other one; none at all is a failure. One of our own that is not there yet is none:
    a deployment `installs` it."""
    installed, listed = facts.of(engine.FACT), facts.of(environments.FACT)
    others = () if isinstance(listed, Unknown) else listed
    if isinstance(installed, InstalledEngine):
        yield _installed(installed, on_gpus=bool(facts.cards))
        others = tuple(other for other in others if other.python != installed.executable)
    elif installs and installed.code == "no_engine_python":
        yield Check(SUBJECT, "pass", f"{installs} is not there yet; a deployment installs it")
    elif installed.code in ("engine_unversioned", *engine.ABSENT):
        yield Check(SUBJECT, "fail", installed.reason, _instead(facts, others))
    else:
        yield from not_known(SUBJECT, installed)
    yield from not_known("engines", listed)
    yield from (Check("engines", "pass", _words(other)) for other in others)
    if listed == () and isinstance(installed, Unknown) and installed.code == "not_asked":
        release = _offered(facts)
        mend = f"deploy engine install {release} --host HOST" if release else None
        yield Check("engines", "fail", "no Python environment with one was found", mend)


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


def _instead(facts: Facts, others: tuple[Environment, ...]) -> str | None:
    if others:
        return f"--set engine.python={others[0].python}    (has {others[0].version})"
    release = _offered(facts)
    return f"--set engine.install={release}" if release else None


def _offered(facts: Facts) -> PinnedEngine | None:
    return offered(registry.get(registry.USUAL), on_cpu=facts.without_gpus)
