"""How is done what a remedy asks for besides settings: cleaning, and fetching damaged files again?"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from orchestrator.base.errors import CheckpointError
from orchestrator.engines import registry
from orchestrator.job import Job
from orchestrator.plan.beside import held
from orchestrator.plan.change import Change
from orchestrator.plan.gpu_holders import holders
from orchestrator.plan.gpu_room import Shortage
from orchestrator.plan.plan import Plan
from orchestrator.plan.still_held import StillHeld
from orchestrator.programs.ask import ask
from orchestrator.programs.cleanup import Cleanup, Removed, Waited
from orchestrator.programs.discard import Discard, KnownFile
from orchestrator.survey.survey import Survey

GPU_WAIT_SECONDS = 60.0
DEADLINE_SECONDS = 300.0
HASH_SECONDS = 3600.0
"""For hashing the files that a remedy names: a shard of 5 GB takes ten seconds, "*" means all of them."""
BY_STOPPING = ("shm", "orphan_processes")
"""What is cleaned with every launch that is stopped."""


def clean(
    job: Job, plan: Plan, wanted: Sequence[str], read: Mapping[str, str] = MappingProxyType({})
) -> Shortage | StillHeld | None:
    """Clean what these names say, as far as stopping the launch has not done it.

    Gives who holds the cards where memory was waited for, none came, and the next launch would be refused too; `read` is what the
    last one said when it was.
    """
    names = [name for name in wanted if name not in BY_STOPPING]
    if not names:
        return None
    with job.report.step(
        "clean", ", ".join(name.replace("_", " ") for name in names), limit=DEADLINE_SECONDS
    ) as step:
        request = Cleanup(
            instance=job.name,
            names=tuple(names),
            folder=plan.folder,
            environment={
                variable.name: variable.sent for variable in plan.options.environment if not variable.secret
            },
            footprint=job.playbook.kind.footprint,
            engines=tuple(registry.get(kind).footprint for kind in registry.launched()),
            seconds=GPU_WAIT_SECONDS,
            gpu_at_most_mib=plan.gpu_at_most_mib,
        )
        cleaned = ask(job.host, request, deadline=DEADLINE_SECONDS)
        step.done = "; ".join(_cleaned(name, getattr(cleaned, name)) for name in names)
        step.data = cleaned.as_json()
        waited = cleaned.gpu_memory_wait
        short = None
        if waited is not None:
            short = held(plan.playbook, plan.survey, plan.version, plan.options, waited, read)
        if short is not None:
            step.state = "failed"
    return short


def _cleaned(name: str, done: Removed | Waited | None) -> str:
    what = name.replace("_", " ")
    if done is None:
        return f"{what}: nvidia-smi does not answer"
    if isinstance(done, Waited):
        return "; ".join([f"waited {done.seconds:.0f} s for GPU memory", *holders(done.holders)])
    kept = "".join(f", {file.path} stays: {file.reason}" for file in done.kept)
    return f"{what}: {len(done.removed)} removed{kept}"


def discard(job: Job, survey: Survey, change: Change) -> None:
    """Take away the named files whose content is not upstream's, so that they are fetched again.

    Raises CheckpointError("not_damaged") where every one of them is what upstream has, or nothing is known of it, and
    CheckpointError("not_ours") where what is damaged has to stay.
    """
    known = survey.checkpoint.manifest.files if survey.checkpoint.manifest else {}
    names = [name for name in known if "*" in change.redownloads or name in change.redownloads]
    files = {
        name: KnownFile(size=known[name].size, sha256=known[name].sha256)
        for name in names
        if name not in survey.patched
    }
    with job.report.step("verify", "hashing what the engine could not read", limit=HASH_SECONDS) as step:
        request = Discard(
            instance=job.name,
            folder=survey.checkpoint.folder,
            files=files,
            foreign_folder="foreign-folder" in job.consents,
        )
        answer = ask(job.host, request, deadline=HASH_SECONDS)
        step.data = answer.as_json()
        stays = "; ".join(f"{file.path} stays: {file.reason}" for file in answer.kept)
        step.done = f"{', '.join(answer.discarded) or 'none'} damaged; taken away to be fetched again"
        if not answer.discarded:
            step.state, step.done = "failed", stays or "every file is what the Hub has"
        elif stays:
            step.done += f"; {stays}"
    if not answer.discarded and not survey.checkpoint.missing:
        raise _nothing_discarded(job, survey.checkpoint.folder, change, answer.sound, stays)


def _nothing_discarded(
    job: Job, folder: str, change: Change, sound: Sequence[str], stays: str
) -> CheckpointError:
    """Why no file can be fetched again, though the engine could not read one."""
    if stays:
        code, reason = "not_ours", f"not what the Hub has, and not ours to remove: {stays}"
    else:
        wanted = ", ".join(change.redownloads).replace("*", "the shards")
        unknown = "was not fetched by deploy, so nothing is known to compare it with"
        verdict = "is what the Hub has" if sound else unknown
        code, reason = "not_damaged", f"the engine cannot read {wanted} in {folder}, which {verdict}"
    look = f"ls -l {shlex.quote(folder)}  # on {job.host.name}"
    return CheckpointError(code, f"{job.host.name}: {reason}", next_command=look)
