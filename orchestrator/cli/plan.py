"""`deploy plan PLAYBOOK --host H`: what would be done, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli.options import SharedOptions, planning_options, repairing_options

if TYPE_CHECKING:
    from orchestrator.base.errors import DeployError
    from orchestrator.loop.reading import Reading
    from orchestrator.steps.course import Course


@click.command(epilog="Example:  deploy plan kimi-k2.5 --host 10.1.230.174 --json")
@planning_options
@repairing_options
def plan(options: SharedOptions, gpu: str | None, facts: str | None, **wishes: Any) -> int:
    """Show every effect that `up` would have, in order, with reasons; changes nothing.

    Shows the facts that count, whether the context fits, predictions, patches as diffs, the environment and
    the command. Needs no host where --gpu names the cards (with --vllm the engine's version), or --facts a file.
    """
    from orchestrator.cli.offline import looking

    return looking(
        options,
        lambda reading: show_plan(options, reading, reading.course()),
        verb="plan",
        gpu=gpu,
        facts=facts,
        **wishes,
    )


def show_plan(options: SharedOptions, reading: Reading, planned: Course) -> int:
    """Print the plan: one object on one line, or text; leaves as the run would where something forbids it."""
    from orchestrator.cli.hints import following
    from orchestrator.cli.typed import again
    from orchestrator.loop.consents import objection
    from orchestrator.report.json_lines import json_line
    from orchestrator.report.layout import passage
    from orchestrator.report.plan_text import whole

    refused = objection(reading.job, planned)
    if options.json:
        asked = again(options, reading.job.host.name)

        def as_json(error: DeployError) -> dict[str, str | None]:
            return {"code": error.code, "message": error.message, "next": following(error, asked)}

        refusals = [as_json(error) for error in planned.refusals]
        error = as_json(refused) if refused else None
        click.echo(json_line({**planned.as_json(), "refusals": refusals, "error": error}))
        return refused.exit_code if refused else 0
    click.echo(passage("\n".join(whole(planned))))
    for warning in planned.plan.warnings:
        click.echo(passage(f"warning: {warning}"), err=True)
    if refused:
        raise refused
    return 0
