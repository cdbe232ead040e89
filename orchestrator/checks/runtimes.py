"""Could an engine run in a container here?"""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.checks.check import Check, not_known
from orchestrator.facts.examined import runtimes
from orchestrator.facts.examined.runtimes import Runtime
from orchestrator.facts.gather import Facts
from orchestrator.facts.source import Unknown

SUBJECT = "containers"


def check(facts: Facts) -> Iterator[Check]:
    """Each runtime; a process under SSH needs none, so that nothing here is worse than a warning."""
    read = facts.of(runtimes.FACT)
    if isinstance(read, Unknown):
        yield from not_known(SUBJECT, read)
        return
    if not read.runtimes:
        yield Check(SUBJECT, "pass", "no runtime (none is needed)")
    for runtime in read.runtimes:
        if runtime.answers is False:
            yield _refused(runtime)
        elif runtime.answers and facts.cards and not runtime.gpus and not read.cdi:
            mend = f"sudo nvidia-ctk runtime configure --runtime={runtime.name}"
            words = f"{runtime.name} {runtime.version or ''} gives containers no GPUs"
            yield Check(SUBJECT, "warn", words, mend if read.toolkit else "install nvidia-container-toolkit")
        else:
            images = f", images: {', '.join(runtime.images)}" if runtime.images else ""
            yield Check(SUBJECT, "pass", f"{runtime.name} {runtime.version or ''}{images}")


def _refused(runtime: Runtime) -> Check:
    why = f": {runtime.refusal}" if runtime.refusal else ""
    mend = "sudo usermod -aG docker $USER    (then log in again)" if "ermission" in why else None
    return Check(SUBJECT, "warn", f"{runtime.name} does not answer this user{why}", mend)
