"""`deploy revert PLAYBOOK --host H`: put the original bytes back."""

from __future__ import annotations

import click

from orchestrator.cli import complete
from orchestrator.cli.options import CONSENT, SharedOptions, acting_options, shared_options


@click.command(epilog="Example:  deploy revert kimi-k2.5 --host 10.1.230.174")
@shared_options
@click.option(
    "--patch",
    "patch_id",
    metavar="ID",
    shell_complete=complete.patches,
    help="only this patch; all of them otherwise, newest first",
)
@acting_options
@click.option(
    "--forget", is_flag=True, help="leave the files as they are, only take the patches out of force"
)
@click.option("--part", is_flag=True, help="also where other hosts serve the model with this one")
@CONSENT
def revert(
    options: SharedOptions,
    patch_id: str | None,
    consents: tuple[str, ...],
    dry_run: bool,
    forget: bool,
    part: bool,
) -> int:
    """Put back the original bytes of every patched file and forget what patches set.

    A launch that runs keeps what it read at its start until it is restarted.
    """
    from orchestrator.cli.session import on_each_host
    from orchestrator.loop.deployment import Deployment

    def work(deployment: Deployment) -> int:
        report = deployment.readings[0].job.report
        if dry_run:
            for step in deployment.reading.taking_back(patch_id, forget=forget):
                (words,) = step.effects.words
                report.emit("note", f"would {words}", patch=step.applied.patch, files=list(step.names))
            return 0
        taken_back = deployment.revert(patch_id, forget=forget, part=part)
        if not taken_back:
            report.emit("note", "no patch is in force; nothing to revert", changed=False)
        return 0

    return on_each_host(options, work, consents=consents, whole=not dry_run)
