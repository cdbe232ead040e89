"""`deploy restart PLAYBOOK --host H`: stop, then launch again."""

from __future__ import annotations

from typing import Any

import click

from orchestrator.cli.options import SharedOptions, acting_options, repairing_options, shared_options


@click.command(epilog="Example:  deploy restart kimi-k2.5 --host 10.1.230.174")
@shared_options
@repairing_options
@acting_options
def restart(options: SharedOptions, dry_run: bool, **wishes: Any) -> int:
    """Stop what runs, orphans included, then launch again by the playbook as it is now."""
    from orchestrator.cli.plan import Plans
    from orchestrator.cli.session import by_the_host, on_each_host
    from orchestrator.cli.stop import would_stop
    from orchestrator.loop.deployment import Deployment

    plans = Plans(options)

    def work(deployment: Deployment) -> int:
        if dry_run:
            for reading, ending in zip(deployment.readings, deployment.endings(), strict=True):
                would_stop(reading, ending)
            return plans.take(deployment, deployment.planned("restart"))
        deployment.restart()
        return 0

    words = {0: "planned" if dry_run else "healthy"}
    code = on_each_host(options, work, source=by_the_host, whole=True, words=words, **wishes)
    plans.show()
    return code
