"""Is there an engine in the Python that was named, which others are there, and does the driver go far enough for it?"""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.checks.check import Check, not_known
from orchestrator.facts import driver, engine, environments
from orchestrator.facts.driver import Driver
from orchestrator.facts.engine import InstalledEngine
from orchestrator.facts.environments import Environment
from orchestrator.facts.gather import Facts
from orchestrator.facts.source import Unknown

SUBJECT = "engine"
UPGRADE = "sudo ubuntu-drivers install --gpgpu    (or your system's driver package), then reboot"


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
    yield from _driver(facts, installed)


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


def _driver(facts: Facts, installed: InstalledEngine | Unknown) -> Iterator[Check]:
    loaded = facts.of(driver.FACT)
    if not facts.cards or isinstance(loaded, Unknown):
        return
    behind = None if isinstance(installed, Unknown) else loaded.behind(installed.torch_cuda)
    if behind:
        yield Check("driver", "fail" if behind.certain else "warn", behind.sentence, UPGRADE)
    else:
        yield Check("driver", "pass", _loaded(loaded))


def _loaded(loaded: Driver) -> str:
    kind = {True: ", open kernel module", False: ", proprietary kernel module", None: ""}[loaded.open]
    return f"{loaded.version or loaded.module}, up to CUDA {loaded.cuda or 'not known'}{kind}"
