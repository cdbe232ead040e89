"""Which patches in a checkpoint's files are foreseen to be of no more use with the release that is on the host?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from orchestrator.patches.known import Known
from orchestrator.patches.patch import Patch
from orchestrator.patches.versions import versions
from orchestrator.plan.windows import holds, may_be
from orchestrator.survey.journal import AppliedPatch, History


@dataclass(frozen=True)
class Retired:
    """A patch that was applied for a failure that was certain, and that this release is not known to have: none `since`."""

    patch: str
    since: str
    engine: str

    @property
    def sentence(self) -> str:
        return (
            f"{self.patch} is in force, and no longer needed as far as is known since {self.engine} {self.since}: "
            f"revert --patch {self.patch} puts the files back"
        )

    def as_json(self) -> dict[str, str]:
        return {"patch": self.patch, "since": self.since}


def retired(history: History, patches: Sequence[Patch], asked: Known, engine: str) -> Iterator[Retired]:
    """Of the patches that edit files; `asked` is what is known of the launch without any remedy, `engine` its title."""
    by_id = {patch.id: patch for patch in patches}
    for applied in history.applied:
        patch = by_id.get(applied.patch)
        if patch is None or not applied.files or applied.why != "certain" or asked.version is None:
            continue
        since = _ended(patch, _unpatched(asked, applied))
        if since is not None:
            yield Retired(patch.id, since, engine)


def _unpatched(asked: Known, applied: AppliedPatch) -> Known:
    """As it would be without the patch: what its files said is not known any more, but for what the record says that the
    engine made of them."""
    engine = {**asked.engine, **applied.engine}
    return replace(asked, documents=None, model={}, cache_type=None, engine=engine)


def _ended(patch: Patch, known: Known) -> str | None:
    """The release since which no window holds; None where one does or may, or where not the release alone has changed."""
    if any(holds(window, known) or may_be(window, known) for window in patch.window):
        return None
    kind = known.kind or ""
    ends = []
    for window in patch.window:
        anywhere = window.model_copy(update={kind: None})
        specifier = versions(window).get(kind)
        if specifier is not None and holds(anywhere, known):
            ends += [spec.version for spec in SpecifierSet(specifier) if spec.operator == "<"]
    passed = [end for end in ends if Version(end) <= Version(known.version or "")]
    return max(passed, key=Version, default=None)
