"""`deploy plan PLAYBOOK --host H`: what would be done, and why."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli import values
from orchestrator.cli.options import SharedOptions, planning_options, repairing_options
from orchestrator.cli.warning import warn

if TYPE_CHECKING:
    from orchestrator.base.errors import DeployError
    from orchestrator.checks.between.group_check import GroupCheck
    from orchestrator.loop.deployment import Deployment
    from orchestrator.loop.reading import Reading
    from orchestrator.steps.course import Course


@click.command(epilog="Example:  deploy plan kimi-k2.5 --host 10.1.230.174 --json")
@planning_options
@repairing_options
@click.option(
    "--nodes",
    type=click.IntRange(2, values.MOST_ITEMS),
    metavar="N",
    help="with --gpu or --facts: N such hosts that serve one model together",
)
def plan(options: SharedOptions, gpu: str | None, facts: str | None, nodes: int | None, **wishes: Any) -> int:
    """Show every effect that `up` would have, in order, with reasons; changes nothing.

    Shows the facts that count, whether the context fits, predictions, patches as diffs, the environment and
    the command. Needs no host where --gpu names the cards (with --vllm the engine's version), or --facts a file;
    with --nodes for that many such hosts together.
    """
    from orchestrator.cli.offline import looking

    plans = Plans(options)
    code = looking(
        options,
        lambda reading: show_plan(options, reading, reading.course()),
        lambda deployment: plans.take(deployment, deployment.planned()),
        lambda readings: show_as_one(options, readings, [reading.course() for reading in readings]),
        verb="plan",
        nodes=nodes,
        gpu=gpu,
        facts=facts,
        **wishes,
    )
    plans.show()
    return code


class Plans:
    """What a verb would do on each host. A plan of its own is printed at once, those of several hosts as one text once all are there."""

    def __init__(self, options: SharedOptions) -> None:
        self._options = options
        self._courses: dict[str, Course] = {}

    def take(self, deployment: Deployment, planned: Sequence[Course]) -> int:
        """The exit code; raises what the run would be refused for, and what is said of a part of a group before anything is planned."""
        deployment.require_whole()
        if deployment.readings[0].job.group:
            between = deployment.between(planned)
            return show_as_one(self._options, deployment.readings, planned, between)
        (own,) = planned
        if self._options.json or len(self._options.hosts) == 1:
            return show_plan(self._options, deployment.reading, own)
        from orchestrator.loop.consents import objection

        self._courses[own.plan.host] = own
        if refused := objection(deployment.reading.job, own):
            raise refused
        return 0

    def show(self) -> None:
        """Print what was kept for this, what is the same on several hosts once."""
        from orchestrator.report.alike import alike, in_order, named
        from orchestrator.report.group_plan_text import whole
        from orchestrator.report.layout import passage

        courses = in_order(self._courses, self._options.hosts)
        if not courses:
            return
        click.echo(passage("\n".join(whole(list(courses.values())))))
        warnings = {host: tuple(course.plan.warnings) for host, course in courses.items()}
        for hosts, own in alike(warnings, tuple):
            where = f"{named(hosts)}: " if len(hosts) < len(courses) else ""
            for warning in own:
                warn(f"{where}{warning}")


def show_as_one(
    options: SharedOptions,
    readings: Sequence[Reading],
    planned: Sequence[Course],
    between: Sequence[GroupCheck] = (),
) -> int:
    """One object on one line, or text; leaves as the run would where something forbids it."""
    from orchestrator.cli.typed import again
    from orchestrator.loop.between import refusal
    from orchestrator.loop.consents import objection
    from orchestrator.report.checks_text import check_lines
    from orchestrator.report.choose import width_of, write
    from orchestrator.report.group_plan_text import whole
    from orchestrator.report.json_lines import json_line
    from orchestrator.report.layout import passage

    jobs = [reading.job for reading in readings]
    objections = (objection(job, own) for job, own in zip(jobs, planned, strict=True))
    refused = next(filter(None, objections), None) or refusal(between)
    warnings = dict.fromkeys(warning for own in planned for warning in own.plan.warnings)
    if options.json:
        hosts = [
            {
                "role": reading.role,
                "node": reading.job.playbook.node and asdict(reading.job.playbook.node),
                **own.as_json(),
            }
            for reading, own in zip(readings, planned, strict=True)
        ]
        group = {
            "name": jobs[0].name,
            "playbook": jobs[0].playbook.name,
            "hosts": hosts,
            "between": list(map(asdict, between)),
            "warnings": list(warnings),
            "error": _as_json(refused, again(options, *options.hosts)) if refused else None,
        }
        click.echo(json_line(group))
        return refused.exit_code if refused else 0
    click.echo(passage("\n".join(whole(planned))))
    if between:
        hosts_named = ", ".join(job.host.name for job in jobs)
        write(check_lines(hosts_named, between, width_of(sys.stdout)), sys.stdout)
    for warning in warnings:
        warn(warning)
    if refused:
        raise refused
    return 0


def show_plan(options: SharedOptions, reading: Reading, planned: Course) -> int:
    """Print the plan: one object on one line, or text; leaves as the run would where something forbids it."""
    from orchestrator.cli.typed import again
    from orchestrator.loop.consents import objection
    from orchestrator.report.json_lines import json_line
    from orchestrator.report.layout import passage
    from orchestrator.report.plan_text import whole

    refused = objection(reading.job, planned)
    if options.json:
        asked = again(options, reading.job.host.name)
        refusals = [_as_json(error, asked) for error in planned.refusals]
        error = _as_json(refused, asked) if refused else None
        click.echo(json_line({**planned.as_json(), "refusals": refusals, "error": error}))
        return refused.exit_code if refused else 0
    click.echo(passage("\n".join(whole(planned))))
    for warning in planned.plan.warnings:
        warn(warning)
    if refused:
        raise refused
    return 0


def _as_json(error: DeployError, asked: str) -> dict[str, str | None]:
    from orchestrator.cli.hints import following

    return {"code": error.code, "message": error.message, "next": following(error, asked)}
