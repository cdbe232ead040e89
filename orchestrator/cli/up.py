"""`deploy PLAYBOOK --host H`: the whole job."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli.options import SharedOptions, acting_options, repairing_options, shared_options

if TYPE_CHECKING:
    from orchestrator.loop.deployment import Deployment


@click.command(epilog="Example:  deploy kimi-k2.5 --host 10.1.230.174")
@shared_options
@repairing_options
@acting_options
def up(options: SharedOptions, dry_run: bool, **wishes: Any) -> int:
    """Bring a playbook up on a host until a completion comes out.

    Downloads, verifies, launches, watches; when the launch fails, finds the root cause, repairs it and launches
    again. A second run on a healthy deployment changes nothing. Interrupting leaves the launch running,
    and the same command resumes.
    """
    from orchestrator.cli.plan import Plans
    from orchestrator.cli.session import on_each_host

    plans = Plans(options)

    def work(deployment: Deployment) -> int:
        if dry_run:
            return plans.take(deployment, deployment.planned())
        deployment.up()
        return 0

    words = {0: "planned" if dry_run else "healthy"}
    code = on_each_host(options, work, whole=True, words=words, **wishes)
    plans.show()
    return code
