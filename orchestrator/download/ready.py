"""Is the checkpoint whole on the host, and if not, what does it take to get there?"""

from __future__ import annotations

import shlex
from typing import Any

from orchestrator.base.errors import CheckpointError
from orchestrator.base.events import Report
from orchestrator.download.fetch import fetch
from orchestrator.download.progress import known_files
from orchestrator.hosts.host import Host
from orchestrator.playbook.playbook import Playbook
from orchestrator.survey.survey import Survey


def make_ready(
    host: Host,
    playbook: Playbook,
    report: Report,
    found: Survey,
    *,
    consents: tuple[str, ...],
    again: str,
) -> None:
    """Fetch what is missing or broken; a whole checkpoint is left alone, without a word to the Hub.

    `again` is how a command names playbook and host.
    """
    manifest = found.checkpoint.manifest
    cut_off = manifest is not None and not manifest.get("complete")
    if found.checkpoint.exists and not cut_off and judge(host, report, found, deep=False)["whole"]:
        return
    fetch(host, playbook, report, found, consents=consents, again=again)
    verdict = judge(host, report, found, deep=False)
    if not verdict["whole"]:  # the repository has it so, or knows no such file: fetching again mends nothing
        name = verdict["bad"][0]["file"]
        path = f"{found.checkpoint.folder}/{name if name.isprintable() else ''}"
        raise _broken(host, found, verdict, next_command=f"ls -l {shlex.quote(path)}  # on {host.name}")


def require(host: Host, report: Report, found: Survey, *, again: str) -> None:
    """Raise CheckpointError("checkpoint_broken") with the bad files and why, unless the checkpoint is whole."""
    verdict = judge(host, report, found, deep=False)
    if not verdict["whole"]:
        raise _broken(host, found, verdict, next_command=f"deploy {again}")


def _broken(host: Host, found: Survey, verdict: dict[str, Any], *, next_command: str) -> CheckpointError:
    bad = "; ".join(f"{file['file']}: {file['why']}" for file in verdict["bad"][:3])
    return CheckpointError(
        "checkpoint_broken",
        f"{host.name}: files in {found.checkpoint.folder} are bad ({len(verdict['bad'])} in all): {bad}",
        next_command=next_command,
    )


def judge(host: Host, report: Report, found: Survey, *, deep: bool) -> dict[str, Any]:
    """The host's verdict on every file: {whole, shards, tensors, bytes, bad: [{file, why}], index, patched}.

    A config file that differs only by a patch of ours is named as patched and not measured by upstream's size.
    """
    patched = found.patched
    files = known_files(found.checkpoint.manifest, patched)
    verdict: dict[str, Any] = {}
    with report.step("verify", "hashing every file" if deep else "reading every shard's header") as step:
        request = {"folder": found.checkpoint.folder, "files": files or None, "deep": deep}
        stream = host.stream_script("verify", request)
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
