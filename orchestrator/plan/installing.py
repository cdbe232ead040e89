"""Is an engine installed on this host before anything is launched? Pure."""

from __future__ import annotations

from orchestrator.facts import engine
from orchestrator.facts.source import Unknown
from orchestrator.playbook.pinned import PinnedEngine
from orchestrator.playbook.playbook import Playbook
from orchestrator.survey.survey import Survey

CONSENT = "install-engine"


def installed_first(playbook: Playbook, survey: Survey) -> PinnedEngine | None:
    """The engine of our own that is not there yet; None where none is asked for, or its interpreter is there.

    That is there only where everything else is (`on_host/environments/make.py`); what answers and is another engine was
    changed by somebody, and is not made anew under a launch that may use it.
    """
    there = survey.facts.of(engine.FACT)
    absent = isinstance(there, Unknown) and there.code == "no_engine_python"
    return playbook.engine.pinned if absent else None


def expected(playbook: Playbook, survey: Survey) -> str | None:
    """The version that will be there; None where none of our own is asked for, or the interpreter that is there says."""
    there = survey.facts.of(engine.FACT)
    open_ = isinstance(there, Unknown) and there.code in ("no_engine_python", "not_asked")
    return playbook.engine.pinned.version if playbook.engine.pinned and open_ else None


def on_cpu(playbook: Playbook, survey: Survey) -> bool:
    """Whether the engine that is launched is one for the CPU, as far as that is known."""
    pinned = playbook.engine.pinned
    return survey.engine.on_cpu if survey.engine else pinned is not None and pinned.on_cpu
