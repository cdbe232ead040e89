"""Is the checkpoint whole on the host, and if not, what does it take to get there?"""

from __future__ import annotations

import shlex
from typing import Any

from orchestrator.base.errors import CheckpointError
from orchestrator.download.fetch import fetch
from orchestrator.download.progress import known_files
from orchestrator.job import Job
from orchestrator.survey.survey import Survey


def make_ready(job: Job, found: Survey) -> None:
    """Fetch what is missing or broken; a whole checkpoint is left alone, without a word to the Hub."""
    manifest = found.checkpoint.manifest
    cut_off = manifest is not None and not manifest.get("complete")
    if found.checkpoint.exists and not cut_off and judge(job, found, deep=False)["whole"]:
        return
    fetch(job, found)
    verdict = judge(job, found, deep=False)
    if not verdict["whole"]:  # the repository has it so, or knows no such file: fetching again mends nothing
        name = verdict["bad"][0]["file"]
        path = f"{found.checkpoint.folder}/{name if name.isprintable() else ''}"
        raise _broken(job, found, verdict, next_command=f"ls -l {shlex.quote(path)}  # on {job.host.name}")


def require(job: Job, found: Survey) -> None:
    """Raise CheckpointError("checkpoint_broken") with the bad files and why, unless the checkpoint is whole."""
    verdict = judge(job, found, deep=False)
    if not verdict["whole"]:
        raise _broken(job, found, verdict, next_command=f"deploy {job.again}")


def _broken(job: Job, found: Survey, verdict: dict[str, Any], *, next_command: str) -> CheckpointError:
    bad = "; ".join(f"{file['file']}: {file['why']}" for file in verdict["bad"][:3])
    return CheckpointError(
        "checkpoint_broken",
        f"{job.host.name}: files in {found.checkpoint.folder} are bad ({len(verdict['bad'])} in all): {bad}",
        next_command=next_command,
    )


def judge(job: Job, found: Survey, *, deep: bool) -> dict[str, Any]:
    """The host's verdict on every file: {whole, shards, tensors, bytes, bad: [{file, why}], index, patched}.

    A config file that differs only by a patch of ours is named as patched and not measured by upstream's size.
    """
    patched = found.patched
    files = known_files(found.checkpoint.manifest, patched)
    verdict: dict[str, Any] = {}
    with job.report.step("verify", "hashing every file" if deep else "reading every shard's header") as step:
        request = {"folder": found.checkpoint.folder, "files": files or None, "deep": deep}
        stream = job.host.stream_script("verify", request)
        try:
            for value in stream.values():
                if "progress" in value:
                    step.progress(f"hashing {value['progress']['file'] or 'every file'}", **value["progress"])
                else:
                    verdict = value
        finally:
            stream.close()
        verdict["patched"] = [{"file": name, "patch": patch} for name, patch in sorted(patched.items())]
        step.data = verdict
        if verdict["whole"]:
            step.done = f"{verdict['tensors']:,} tensors in {verdict['shards']} shards whole"
        else:
            step.state = "failed"
            step.done = "; ".join(f"{bad['file']}: {bad['why']}" for bad in verdict["bad"][:5])
    return verdict
