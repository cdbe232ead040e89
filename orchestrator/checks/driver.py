"""Does the NVIDIA driver go far enough for the engine?"""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.checks.check import Check
from orchestrator.facts import driver, engine
from orchestrator.facts.driver import Driver
from orchestrator.facts.gather import Facts
from orchestrator.facts.source import Unknown

SUBJECT = "driver"
UPGRADE = "sudo ubuntu-drivers install --gpgpu    (or your system's driver package), then reboot"


def check(facts: Facts) -> Iterator[Check]:
    """The driver against the CUDA of the engine's torch; nothing without cards, whose own check says why."""
    loaded, installed = facts.of(driver.FACT), facts.of(engine.FACT)
    if not facts.cards or isinstance(loaded, Unknown):
        return
    behind = None if isinstance(installed, Unknown) else loaded.behind(installed.torch_cuda)
    if behind:
        yield Check(SUBJECT, "fail" if behind.certain else "warn", behind.sentence, UPGRADE)
    else:
        yield Check(SUBJECT, "pass", _loaded(loaded))


def _loaded(loaded: Driver) -> str:
    kind = {True: ", open kernel module", False: ", proprietary kernel module", None: ""}[loaded.open]
    return f"{loaded.version or loaded.module}, up to CUDA {loaded.cuda or 'not known'}{kind}"
