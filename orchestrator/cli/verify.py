"""`deploy verify PLAYBOOK --host H`: is the checkpoint whole?"""

from __future__ import annotations

from functools import partial

import click

from orchestrator.cli.options import SharedOptions, shared_options

BROKEN = 5


@click.command(epilog="Example:  deploy verify kimi-k2.5 --host 10.1.230.174")
@shared_options
@click.option("--deep", is_flag=True, help="hash every file whose sha256 the Hub told")
def verify(options: SharedOptions, deep: bool) -> int:
    """Check the structure of every shard from the index and the headers, without network.

    Leaves with 5 and names each bad file and why.
    """
    from orchestrator.cli.session import on_each_host
    from orchestrator.loop.deployment import Deployment
    from orchestrator.loop.reading import Reading
    from orchestrator.loop.side_by_side import side_by_side

    def judged(reading: Reading) -> int:
        verdict = reading.verify(deep=deep)
        lines = [f"{bad.file}: {bad.why}" for bad in verdict.bad]
        lines += [f"{file.file}: patched by {file.patch}" for file in verdict.patched]
        if lines:
            reading.job.report.emit("note", "\n".join(line.replace("\n", " ") for line in lines))
        return 0 if verdict.whole else BROKEN

    def work(deployment: Deployment) -> int:
        return max(side_by_side([partial(judged, reading) for reading in deployment.readings]))

    return on_each_host(options, work, whole=True, words={0: "whole", BROKEN: "broken"})
