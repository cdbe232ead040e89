"""What of the checkpoint is not on the host, and how does it get there?"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from orchestrator.group.ways import CheckpointWay
from orchestrator.plan.plan import Plan
from orchestrator.steps.step import Effects, Onward, Step, Work


@dataclass(frozen=True)
class Download(Step):
    """Fetch what the folder lacks, where it is known to lack something."""

    name = "download"
    plan: Plan
    way: CheckpointWay | None = None
    """From which host it comes; None: from the Hub, for this host alone."""

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
        what = f"fetch what {checkpoint.folder} lacks of {self.plan.playbook.model.repository}"
        return Effects(
            (f"{what} {self.way.words}" if self.way else what,),
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
        """At the rate of the last download into this folder, from the Hub."""
        if self.way and self.way.receives:
            return None
        manifest, lacking = self.plan.survey.checkpoint.manifest, self._bytes
        return lacking / manifest.rate if manifest and manifest.rate and lacking is not None else None

    def do(self, work: Work) -> Onward | None:
        from orchestrator.download.fetch import fetch

        job, exchange = work.job, work.exchange
        if not self.lacking:
            if exchange is not None:
                exchange.known(job.host.name)
                exchange.done(job.host.name)
            return None
        work.require()
        survey = self.plan.survey
        if exchange is None or self.way is None:
            fetch(job, survey, work.proceed)
        elif not self.way.receives:
            fetch(job, survey, work.proceed, known=partial(exchange.known, job.host.name))
            exchange.done(job.host.name)
        else:
            wait = partial(job.report.wait, "download")
            with exchange.supply(job.host.name, work.proceed, wait) as supply:
                if supply is None:
                    job.report.emit("warning", f"{self.way.source} gives nothing: asking the Hub instead")
                fetch(job, survey, work.proceed, supply=supply)
        return "verify"
