"""What is to be known of patches that are asked for by name: against what does its own file speak, and why does one change nothing?"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from orchestrator.engines.protocol import Engine
from orchestrator.patches.action import Action
from orchestrator.patches.known import Known
from orchestrator.patches.patch import Patch
from orchestrator.plan.wishes import Wishes


def remarks(wishes: Wishes, known: Known, engine: Engine, changing: Collection[str]) -> tuple[str, ...]:
    """A sentence for each of which there is something; `changing` are the ids of those that change something here."""
    sentences: list[str] = []
    for patch in wishes.allowed:
        if patch.id not in wishes.forced or patch.id in wishes.inherited:
            continue
        if known.documents is not None and patch.id not in changing:
            sentences.append(_idle(patch, known, engine))
        elif patch.never:
            sentences.append(_against(patch, known))
    return tuple(sentences)


def _against(patch: Patch, known: Known) -> str:
    here = [f"{known.attention} attention"] if known.attention not in (None, "other") else []
    here += [f"compute capability {known.compute_cap}"] if known.compute_cap else []
    beside = f" (here: {', '.join(here)})" if here else ""
    return f"{patch.id} is asked for by name; its own file says never for: {'; '.join(patch.never)}{beside}"


def _idle(patch: Patch, known: Known, engine: Engine) -> str:
    edited = {path.rpartition("/")[2] for action in _edits(patch) for path in action.path}
    if known.cache_type != "auto" or not edited & engine.cache_type.members:
        return f"{patch.id} is asked for by name and finds nothing to change here"
    reader = f"{engine.title} {known.version}" if known.version else f"every known release of {engine.title}"
    return f"{patch.id} changes nothing here: {reader} reads auto out of these files already, the model's own dtype for the KV cache"


def _edits(patch: Patch) -> Iterator[Action]:
    for action in (action for way in patch.ways for action in way.do if action.kind == "config"):
        yield from (action,) if action.of is None else action.edits
