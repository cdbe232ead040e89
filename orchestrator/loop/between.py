"""What between the hosts of a group would keep them from serving one model together?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from orchestrator.base.errors import DeployError, PreflightRefused
from orchestrator.checks.between import by_facts, flags, folders, ray, reach
from orchestrator.checks.between.folders import CheckpointFolder
from orchestrator.checks.between.group_check import GroupCheck
from orchestrator.job import Job
from orchestrator.loop.reach import DIAL_SECONDS, Party, reached
from orchestrator.loop.reading import Reading
from orchestrator.plan.plan import Plan
from orchestrator.survey.survey import Survey


def between(readings: Sequence[Reading], plans: Sequence[Plan]) -> tuple[GroupCheck, ...]:
    """The checks of hosts that would be launched by these plans; nothing where each serves alone. Each dials all others."""
    parties = [
        Party(reading.job.host, node, tuple(member.pid for member in plan.survey.observed.members))
        for reading, plan in zip(readings, plans, strict=True)
        if (node := reading.job.playbook.node)
    ]
    if len(parties) < 2:
        return ()
    head = readings[0].job
    with head.report.wait("meet", f"{len(parties)} hosts dial each other", limit=10 * DIAL_SECONDS):
        places = reached(parties)
    by_host = dict(zip((party.host.name for party in parties), plans, strict=True))
    return (
        *by_facts.check({name: plan.survey.facts for name, plan in by_host.items()}),
        *_of_plans(head, by_host),
        *reach.check(places, parties[0].node.port, head.playbook.kind.meeting),
    )


def by_now(job: Job, plans: Mapping[str, Plan]) -> DeployError | None:
    """What keeps hosts from a launch by what has come onto them and was changed on them since they were first compared."""
    return refusal(tuple(_of_plans(job, plans))) if job.playbook.node and len(plans) > 1 else None


def _of_plans(job: Job, plans: Mapping[str, Plan]) -> Iterator[GroupCheck]:
    yield from flags.check({name: _options(plan) for name, plan in plans.items()})
    if any(plan.options.through_ray for plan in plans.values()):
        yield from ray.check({name: plan.survey.facts for name, plan in plans.items()})
    consented = folders.CONSENT in job.consents
    yield from folders.check({name: _folder(plan) for name, plan in plans.items()}, consented=consented)


def refusal(checks: Sequence[GroupCheck]) -> DeployError | None:
    """The first that forbids a launch: it is nobody's own."""
    failed = next((check for check in checks if check.verdict == "fail"), None)
    if failed is None:
        return None
    return PreflightRefused(failed.code, failed.sentence, next_command=failed.mend, **failed.known, role="")


def _options(plan: Plan) -> dict[str, str]:
    """By name; without what is a host's own."""
    return {
        name: str(option.value)
        for name, option in plan.options.given.items()
        if option.origin != "topology" and option.value != plan.folder
    }


def _folder(plan: Plan) -> CheckpointFolder:
    """As it will be launched: with what the plan edits."""
    there = folder_of(plan.survey)
    edited = {
        name: data for change in plan.changes if change.edits for name, data in change.edits.after.items()
    }
    return replace(there, files={**there.files, **edited})


def folder_of(survey: Survey) -> CheckpointFolder:
    """The checkpoint as it lies there now."""
    there = survey.checkpoint
    commit = there.manifest.commit if there.manifest else None
    return CheckpointFolder(there.folder, there.configs, there.measured_bytes, commit)
