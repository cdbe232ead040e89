"""Which failures are foreseen here that no change of the plan mends?"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from orchestrator.base.errors import PreflightRefused
from orchestrator.patches import propose
from orchestrator.patches.known import Known
from orchestrator.patches.patch import Patch
from orchestrator.patches.wanted import Confidence
from orchestrator.plan.predict import may_be_foreseen
from orchestrator.plan.windows import as_here, instead, window_of


@dataclass(frozen=True)
class Prediction:
    """A failure that will come, or may: `advice` is what a person can do, `mended` whether the run has a remedy once the
    failure was seen. What is certain and has none forbids the launch."""

    patch: Patch
    certainty: Confidence
    evidence: str
    advice: str
    mended: bool
    setting: str | None = None
    """What could be set in the playbook instead, as `--set` takes it."""

    @property
    def forbids(self) -> bool:
        return self.certainty == "certain" and not self.mended

    @property
    def action(self) -> str:
        """What becomes of it, in one line."""
        if self.mended:
            return "mended once it is seen"
        return self.advice or "nothing is known that helps"

    def as_json(self) -> dict[str, str]:
        return {
            "patch": self.patch.id,
            "certainty": self.certainty,
            "evidence": self.evidence,
            "action": self.action,
        }

    def refusal(self, host: str) -> PreflightRefused:
        reason = f"{host}: {self.patch.title} ({self.evidence}). {self.advice}".rstrip()
        known = {"patch": self.patch.id, **({"setting": self.setting} if self.setting else {})}
        return PreflightRefused("foreseen", reason, **known)


def predictions(
    patches: Sequence[Patch], known: Known, engine: str, *, answered: Collection[str]
) -> Iterator[Prediction]:
    """Each failure whose window holds, but for patches that are `answered` already: changed, forced, in force."""
    for patch in patches:
        window = window_of(patch, known)
        if window is None or patch.id in answered:
            continue
        if window.certainty == "certain" and any(map(may_be_foreseen, propose.ways(patch, known))):
            continue  # its remedy is in these options, or goes against a patch in force
        yield Prediction(
            patch=patch,
            certainty=window.certainty,
            evidence=", ".join(as_here(window, known, engine)),
            advice=" ".join(propose.with_numbers(patch.advice_for(known.kind), known)),
            mended=_mends_itself(patch, known),
            setting=instead(window, known),
        )


def _mends_itself(patch: Patch, known: Known) -> bool:
    """Whether a way of its own may be taken without asking; what only a log tells may still decide about it."""
    return any(known.allow(way) and not any(action.consent for action in way.do) for way in patch.ways)
