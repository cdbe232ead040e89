"""What of the checkpoint is not on the host, and how does it get there?"""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.plan.plan import Plan
from orchestrator.steps.step import Effects, Onward, Step, Work


@dataclass(frozen=True)
class Download(Step):
    """Fetch what the folder lacks, where it is known to lack something."""

    name = "download"
    plan: Plan

    @property
    def lacking(self) -> bool:
        """Whether something is known to be missing: the check that follows finds what is there and broken."""
        checkpoint = self.plan.survey.checkpoint
        cut_off = checkpoint.manifest is not None and not checkpoint.manifest.complete
        return not checkpoint.exists or cut_off or bool(checkpoint.missing)

    @property
    def effects(self) -> Effects:
        checkpoint = self.plan.survey.checkpoint
        if checkpoint.missing == 0 and not self.lacking:
            return Effects((f"nothing: all {checkpoint.shards} shards are in {checkpoint.folder}",))
        if not self.lacking:
            return Effects((f"nothing: {checkpoint.folder} is there, and is checked next",))
        repository = self.plan.playbook.model.repository
        return Effects(
            (f"fetch what {checkpoint.folder} lacks of {repository}",),
            files=(checkpoint.folder,),
            network_bytes=self._bytes,
            seconds=self._seconds,
            depends="what is fetched may ask for a patch: what follows is planned anew from it",
        )

    @property
    def _bytes(self) -> int | None:
        """As far as it is known before the Hub was asked: all of it, or the share of the shards that are missing. What a
        download that was cut off has of the rest is not known."""
        checkpoint, figures = self.plan.survey.checkpoint, self.plan.playbook.figures
        whole = checkpoint.weights_bytes or figures.weights_bytes
        if whole is None or not checkpoint.shards or checkpoint.missing is None:
            return whole
        if not checkpoint.missing:
            return None
        return round(whole * checkpoint.missing / checkpoint.shards)

    @property
    def _seconds(self) -> float | None:
        """At the rate of the last download into this folder."""
        manifest, lacking = self.plan.survey.checkpoint.manifest, self._bytes
        return lacking / manifest.rate if manifest and manifest.rate and lacking is not None else None

    def do(self, work: Work) -> Onward | None:
        if not self.lacking:
            return None
        from orchestrator.download.fetch import fetch

        work.require()
        fetch(work.job, self.plan.survey, work.proceed)
        return "verify"
