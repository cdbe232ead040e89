"""`deploy plan PLAYBOOK --host H`: what would be done, and why."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli.options import SharedOptions, planning_options, repairing_options

if TYPE_CHECKING:
    from orchestrator.checks.between.group_check import GroupCheck
    from orchestrator.loop.deployment import Deployment
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
        lambda deployment: show_plans(options, deployment),
        verb="plan",
        gpu=gpu,
        facts=facts,
        **wishes,
    )


def show_plans(options: SharedOptions, deployment: Deployment) -> int:
    """Print the plan of each host, and how they stand to each other where they would be launched together."""
    from orchestrator.base.errors import DeployError
    from orchestrator.loop.between import refusal

    planned = deployment.planned()
    checks = deployment.between(planned)
    refused = refusal(checks)
    ends: list[DeployError | int] = []
    for reading, own in zip(deployment.readings, planned, strict=True):
        try:
            with reading.named():
                ends.append(show_plan(options, reading, own, checks))
        except DeployError as error:
            ends.append(error)
    if checks and not options.json:
        from orchestrator.report.checks_text import check_lines
        from orchestrator.report.choose import width_of, write

        hosts = ", ".join(reading.job.host.name for reading in deployment.readings)
        write(check_lines(hosts, checks, width_of(sys.stdout)), sys.stdout)
    for end in (*ends, refused):
        if isinstance(end, DeployError) and not options.json:
            raise end
    return max(end for end in ends if isinstance(end, int))


def show_plan(
    options: SharedOptions, reading: Reading, planned: Course, between: Sequence[GroupCheck] = ()
) -> int:
    """Print the plan: one object on one line, or text; leaves as the run would where something forbids it.

    `between` says how the host stands to those that it would be launched with.
    """
    from orchestrator.base.errors import DeployError
    from orchestrator.cli.hints import following
    from orchestrator.cli.typed import again
    from orchestrator.loop.between import refusal
    from orchestrator.loop.consents import objection
    from orchestrator.report.json_lines import json_line
    from orchestrator.report.layout import passage
    from orchestrator.report.plan_text import whole

    refused = objection(reading.job, planned)
    if options.json:
        refused = refused or refusal(between)
        asked = again(options, reading.job.host.name)

        def as_json(error: DeployError) -> dict[str, str | None]:
            return {"code": error.code, "message": error.message, "next": following(error, asked)}

        refusals = [as_json(error) for error in planned.refusals]
        error = as_json(refused) if refused else None
        together = {"between": list(map(asdict, between))} if between else {}
        click.echo(json_line({**planned.as_json(), **together, "refusals": refusals, "error": error}))
        return refused.exit_code if refused else 0
    click.echo(passage("\n".join(whole(planned))))
    for warning in planned.plan.warnings:
        click.echo(passage(f"warning: {warning}"), err=True)
    if refused:
        raise refused
    return 0
