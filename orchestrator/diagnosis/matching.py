"""Does a patch recognise an incident?"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from orchestrator.diagnosis import selector
from orchestrator.diagnosis.incidents import Incident, Raised
from orchestrator.remedy.patch import Confidence, Match, Patch, fits, settings_fit, version_fits


@dataclass(frozen=True)
class Scene:
    """What is known about a launch besides its incidents. None where nobody said."""

    vllm_version: str | None
    compute_cap: str | None
    engine: Mapping[str, str]
    arguments: Mapping[str, str] | None


@dataclass(frozen=True)
class Recognised:
    """A patch, the exception of the chain by which it was recognised, and the named groups of its pattern."""

    patch: Patch
    raised: Raised
    groups: Mapping[str, str]
    confidence: Confidence


def recognise(patches: Sequence[Patch], incident: Incident, scene: Scene) -> Recognised | None:
    """The patch that says most about the incident; of two that say as much, the first."""
    found: list[tuple[int, Recognised]] = []
    for patch in patches:
        for match in patch.match:
            for raised in incident.chain:
                groups = _judge(match, raised, incident.process, scene)
                if groups is not None:
                    said = len(match.model_fields_set - {"confidence"})
                    found.append((said, Recognised(patch, raised, groups, match.confidence)))
    return max(found, key=lambda pair: pair[0])[1] if found else None


def _judge(match: Match, raised: Raised, process: str | None, scene: Scene) -> Mapping[str, str] | None:
    """The named groups of the pattern where all that `match` asks for holds, else None."""
    if not (
        _names(match, raised, process)
        and _surroundings(match, raised, scene)
        and _selector(match, raised.text)
    ):
        return None
    if match.pattern is None:
        return {}
    found = re.search(match.pattern, raised.text)
    return {name: value or "" for name, value in found.groupdict().items()} if found else None


def _names(match: Match, raised: Raised, process: str | None) -> bool:
    full = raised.exception or ""
    named = match.exception is None or any(
        fnmatchcase(name, match.exception) for name in (full, full.rpartition(".")[2])
    )
    text = " ".join(raised.text.split())
    return (
        named
        and (match.process is None or fits(process, (match.process,)))
        and all(" ".join(wanted.split()) in text for wanted in match.text)
    )


def _surroundings(match: Match, raised: Raised, scene: Scene) -> bool:
    return (
        all(any(fnmatchcase(frame.file, wanted) for frame in raised.frames) for wanted in match.frames)
        and settings_fit(scene.engine, match.engine)
        and settings_fit(scene.arguments, match.arguments)
        and (match.vllm is None or version_fits(match.vllm, scene.vllm_version))
        and (not match.compute_cap or fits(scene.compute_cap, match.compute_cap))
    )


def _selector(match: Match, text: str) -> bool:
    if not (match.reasons or match.forced or match.fields):
        return True
    refusal = selector.parse(text)
    if refusal is None:
        return False
    return (
        bool(match.forced) == (refusal.forced is not None)
        and (not match.forced or fits(refusal.forced, match.forced))
        and settings_fit(refusal.config, match.fields)
        and all(_exactly(refusal, backend, wanted) for backend, wanted in match.reasons.items())
    )


def _exactly(refusal: selector.Refusal, backend: str, wanted: tuple[str, ...]) -> bool:
    given = [reasons for name, reasons in refusal.reasons.items() if fnmatchcase(name, backend)]
    return bool(given) and all(sorted(reasons) == sorted(wanted) for reasons in given)
