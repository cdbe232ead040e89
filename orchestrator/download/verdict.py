"""Which files of the checkpoint on the host are not what they should be?"""

from __future__ import annotations

from collections.abc import Collection

from orchestrator.base.errors import CheckpointError, HostError
from orchestrator.base.events import StepReport
from orchestrator.job import Job
from orchestrator.programs.ask import Answers
from orchestrator.programs.discard import KnownFile
from orchestrator.programs.download import Manifest
from orchestrator.programs.request import Value
from orchestrator.programs.verify import CheckpointVerdict, Hashing, Verify
from orchestrator.survey.survey import Survey


def broken(
    job: Job, survey: Survey, verdict: CheckpointVerdict, *, next_command: str | None
) -> CheckpointError:
    """The error of a checkpoint that is not whole, with the bad files and why."""
    bad = "; ".join(f"{file.file}: {file.why}" for file in verdict.bad[:3])
    return CheckpointError(
        "checkpoint_broken",
        f"{job.host.name}: files in {survey.checkpoint.folder} are bad ({len(verdict.bad)} in all): {bad}",
        next_command=next_command,
    )


class PatchedFile(Value):
    """A config file that differs only by a patch of ours, and which."""

    file: str
    patch: str


class Checked(CheckpointVerdict):
    """The host's verdict, and what is not measured by upstream's size."""

    patched: tuple[PatchedFile, ...]


def known_files(manifest: Manifest | None, patched: Collection[str]) -> dict[str, KnownFile]:
    """Size (bytes) and sha256 of each file for `verify`, without those that a patch of ours changed.

    Only large files are measured: a person may edit the small ones.
    """
    return {
        name: KnownFile(size=file.size if file.sha256 else None, sha256=file.sha256)
        for name, file in (manifest.files if manifest else {}).items()
        if name not in patched
    }


def judge(job: Job, survey: Survey, *, deep: bool) -> Checked:
    """The host's verdict on every file. Raises HostError("host_script") where it ends without one."""
    files = known_files(survey.checkpoint.manifest, survey.patched)
    patched = [{"file": name, "patch": patch} for name, patch in sorted(survey.patched.items())]
    with job.report.step("verify", "hashing every file" if deep else "reading every shard's header") as step:
        request = Verify(folder=survey.checkpoint.folder, files=files or None, deep=deep)
        verdict = _followed(Answers(job.host, request), step)
        checked = Checked.model_validate({**verdict.as_json(), "patched": patched})
        step.data = checked.as_json()
        if checked.whole:
            step.done = f"{checked.tensors:,} tensors in {checked.shards} shards whole"
        else:
            step.state = "failed"
            step.done = "; ".join(f"{bad.file}: {bad.why}" for bad in checked.bad[:5])
    return checked


def _followed(answers: Answers[Hashing | CheckpointVerdict], step: StepReport) -> CheckpointVerdict:
    """The verdict, which comes last; what is hashed meanwhile is told."""
    try:
        for answer in answers.values():
            if isinstance(answer, CheckpointVerdict):
                return answer
            progress = answer.progress
            step.progress(f"hashing {progress.file or 'every file'}", **progress.as_json())
    finally:
        answers.close()
    raise HostError("host_script", "verify ended without a verdict", program="verify")
